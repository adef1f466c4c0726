#include "events/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static struct events *to_stop; /* a handler is passed only the number of the signal */
static atomic_bool requested;

static void on_signal(int number)
{
    (void)number;
    if (atomic_exchange(&requested, true))
        events_stop(to_stop);
    else
        events_wake(to_stop);
}

bool stop_requested(void)
{
    return atomic_load(&requested);
}

void stop_install(struct events *events)
{
    to_stop = events;
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

void stop_uninstall(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    to_stop = NULL;
}

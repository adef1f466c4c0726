#include "stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t requested;

static void on_signal(int number)
{
    (void)number;
    requested = 1;
}

void stop_install(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    /* MSG_NOSIGNAL is for sockets. The log may be a pipe, and its reader may leave. */
    signal(SIGPIPE, SIG_IGN);
}

bool stop_requested(void)
{
    return requested != 0;
}

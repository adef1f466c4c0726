#include "closing.h"

#include <stdlib.h>

#include "net.h"

/* The kernel wants more from us only when a good part of its buffer is free. So a slow peer may
 * have taken something of what is there, and that is progress, too. */
static void on_time(struct timer *timer, void *context)
{
    struct closing *closing = context;
    int before = closing->unsent;
    closing->unsent = net_unsent(closing->fd);
    bool progress = closing->unsent > 0 && closing->unsent < before;
    if (progress && timer_set(closing->timers, timer, LINGER_MS, false))
        return;
    closing->on_end(timer, closing->context);
}

struct closing *closing_new(struct timers *timers, int fd, timers_callback *on_end, void *context)
{
    struct closing *closing = malloc(sizeof *closing);
    if (closing == NULL)
        return NULL;
    *closing = (struct closing){
        .timers = timers,
        .fd = fd,
        .timer = {.call = on_time, .context = closing},
        .on_end = on_end,
        .context = context,
    };
    return closing;
}

void closing_free(struct closing *closing)
{
    if (closing == NULL)
        return;
    timer_cancel(closing->timers, &closing->timer);
    free(closing);
}

bool closing_wait(struct closing *closing, bool waits)
{
    if (closing == NULL)
        return true;
    if (waits && !timer_is_set(&closing->timer))
        closing->unsent = net_unsent(closing->fd);
    /* TODO 10: Give the peer LINGER_MS while it is the one we wait for. Graded by
     * test_08_never_reading_client_is_closed_in_the_end.
     * A timer that is set already goes on: only progress begins a new one. */
    (void)waits;
    return true;
}

void closing_progress(struct closing *closing)
{
    if (closing != NULL)
        timer_cancel(closing->timers, &closing->timer); /* whoever still waits sets it anew */
}

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
    // BEGIN wait
    if (!waits) {
        timer_cancel(closing->timers, &closing->timer);
        return true;
    }
    return timer_is_set(&closing->timer) ||
           timer_set(closing->timers, &closing->timer, LINGER_MS, false);
    // END wait
}

void closing_progress(struct closing *closing)
{
    if (closing != NULL)
        timer_cancel(closing->timers, &closing->timer); /* whoever still waits sets it anew */
}

#include "server/limits.h"

#include <stdlib.h>

#include "base/clock.h"

/* TODO 6: With each byte, in or out, the peer has idle_ms again: note the time, and let the
 * timer see when it is due whether to wait for what is left, or to call t->on_idle(). And a
 * frame has to be complete frame_ms after its first byte. A time of 0 means no limit. Graded by
 * test_07_slow_senders_are_closed. */
static void on_idle_timer(struct timer *timer, void *context)
{
    (void)timer, (void)context;
}

void timeouts_traffic(struct timeouts *t)
{
    (void)t;
}

void timeouts_frame(struct timeouts *t, bool waits, bool passed)
{
    (void)t, (void)waits, (void)passed;
}

struct timeouts *timeouts_new(struct timers *timers, int32_t idle_ms, int32_t frame_ms,
                              timers_callback *on_idle, timers_callback *on_frame, void *context)
{
    struct timeouts *t = malloc(sizeof *t);
    if (t == NULL)
        return NULL;
    *t = (struct timeouts){
        .timers = timers,
        .idle_ms = idle_ms,
        .frame_ms = frame_ms,
        .frame_left_us = (int64_t)frame_ms * 1000,
        .on_idle = on_idle,
        .context = context,
        .idle = {.call = on_idle_timer, .context = t},
        .frame = {.call = on_frame, .context = context},
    };
    return t;
}

void timeouts_free(struct timeouts *t)
{
    if (t == NULL)
        return;
    timer_cancel(t->timers, &t->idle);
    timer_cancel(t->timers, &t->frame);
    free(t);
}

#include "server/limits.h"

#include <stdlib.h>

#include "base/clock.h"

void timeouts_init(struct timeouts *t, int32_t idle_ms, int32_t frame_ms)
{
    *t = (struct timeouts){
        .idle_ms = idle_ms,
        .frame_ms = frame_ms,
        .frame_left_us = (int64_t)frame_ms * 1000,
    };
    timeouts_traffic(t);
}

void timeouts_traffic(struct timeouts *t)
{
    t->moves++;
    if (t->idle_ms > 0)
        t->idle_end_us = clock_us() + (int64_t)t->idle_ms * 1000;
}

void timeouts_frame(struct timeouts *t, bool waits, bool passed)
{
    if (t->frame_ms == 0)
        return;
    /* Counted from its first byte. Neither further bytes of the same frame nor a pause give it the
     * whole time again: else a peer could take for ever by sending a byte, or by not reading for a
     * moment, now and then. */
    if (t->frame_waits)
        t->frame_left_us = t->frame_end_us - clock_us();
    if (passed)
        t->frame_left_us = (int64_t)t->frame_ms * 1000;
    t->frame_waits = waits;
    if (waits)
        t->frame_end_us = clock_us() + t->frame_left_us;
}

bool timeouts_idle_over(const struct timeouts *t)
{
    return t->idle_ms > 0 && clock_ms_until(t->idle_end_us) == 0;
}

bool timeouts_frame_over(const struct timeouts *t)
{
    return t->frame_waits && clock_ms_until(t->frame_end_us) == 0;
}

int timeouts_left(const struct timeouts *t, bool idle)
{
    int idle_left = idle && t->idle_ms > 0 ? clock_ms_until(t->idle_end_us) : -1;
    int frame_left = t->frame_waits ? clock_ms_until(t->frame_end_us) : -1;
    if (idle_left < 0 || frame_left < 0)
        return idle_left < 0 ? frame_left : idle_left;
    return idle_left < frame_left ? idle_left : frame_left;
}

struct quota *quota_new(struct timers *timers, size_t frames, int32_t interval_ms,
                        timers_callback *on_end, void *context)
{
    struct quota *q = malloc(sizeof *q);
    if (q == NULL)
        return NULL;
    *q = (struct quota){
        .timers = timers,
        .frames = frames,
        .interval_ms = interval_ms,
        .left = frames,
        .ends = {.call = on_end, .context = context},
    };
    return q;
}

void quota_free(struct quota *q)
{
    if (q == NULL)
        return;
    timer_cancel(q->timers, &q->ends);
    free(q);
}

size_t quota_left(const struct quota *q)
{
    return q != NULL ? q->left : SIZE_MAX;
}

void quota_take(struct quota *q, size_t frames)
{
    if (q == NULL)
        return;
    /* Without the timer nothing would ever refill the quota. So if there is no memory for it, these
     * frames are free. */
    if (timer_is_set(&q->ends) || timer_set(q->timers, &q->ends, q->interval_ms, false))
        q->left -= frames;
}

void quota_renew(struct quota *q)
{
    q->left = q->frames;
}

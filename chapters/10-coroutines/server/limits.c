#include "server/limits.h"

#include <stdlib.h>

#include "base/clock.h"

void timeouts_init(struct timeouts *t, int32_t idle_ms, int32_t frame_ms)
{
    *t = (struct timeouts){.idle_ms = idle_ms, .frame_ms = frame_ms};
    timeouts_traffic(t);
}

void timeouts_traffic(struct timeouts *t)
{
    if (t->idle_ms > 0)
        t->traffic = clock_ms();
}

void timeouts_frame(struct timeouts *t, bool waits, bool passed)
{
    /* Counted from its first byte. Further bytes of the same frame do not start it again: else a
     * peer could take for ever by sending one now and then. */
    if (passed || !waits)
        t->frame_begun = false;
    if (t->frame_ms > 0 && waits && !t->frame_begun) {
        t->frame_begun = true;
        t->frame = clock_ms();
    }
}

/* How much of `ms` is left since then, at least 0. Both times were rounded down, so add one. */
static int left(int64_t since, int32_t ms)
{
    int64_t left_ms = since + ms + 1 - clock_ms();
    return left_ms > 0 ? (int)left_ms : 0;
}

bool timeouts_idle_over(const struct timeouts *t)
{
    return t->idle_ms > 0 && left(t->traffic, t->idle_ms) == 0;
}

bool timeouts_frame_over(const struct timeouts *t)
{
    return t->frame_begun && left(t->frame, t->frame_ms) == 0;
}

int timeouts_left(const struct timeouts *t, bool idle)
{
    int idle_left = idle && t->idle_ms > 0 ? left(t->traffic, t->idle_ms) : -1;
    int frame_left = t->frame_begun ? left(t->frame, t->frame_ms) : -1;
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

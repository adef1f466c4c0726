#include "timeouts.h"

#include "clock.h"

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
    /* From its first byte: further bytes of the same frame start nothing anew, or else a peer could
     * take for ever by sending one now and then. */
    if (passed || !waits)
        t->frame_begun = false;
    if (t->frame_ms > 0 && waits && !t->frame_begun) {
        t->frame_begun = true;
        t->frame = clock_ms();
    }
}

/* What is left of `ms` since then, at least 0. Both clocks have been rounded down, so one more may
 * be to come. */
static int left(int64_t since, int32_t ms)
{
    int64_t rest = since + ms + 1 - clock_ms();
    return rest > 0 ? (int)rest : 0;
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

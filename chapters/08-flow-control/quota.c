#include "quota.h"

#include <stdlib.h>

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

/* TODO 3: Count the frames of an interval, which begins with the first of them; the remaining
 * frames have to wait for its end. Graded by test_08_over_quota_is_not_read. */
size_t quota_left(const struct quota *q)
{
    (void)q;
    return SIZE_MAX;
}

void quota_take(struct quota *q, size_t frames)
{
    (void)q, (void)frames;
}

void quota_renew(struct quota *q)
{
    (void)q;
}

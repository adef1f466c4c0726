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

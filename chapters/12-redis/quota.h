/* How many frames of a connection are answered in an interval. The remaining frames wait, unread,
 * until the next interval. */
#ifndef QUOTA_H
#define QUOTA_H

#include <stddef.h>
#include <stdint.h>

#include "timers.h"

struct quota {
    struct timers *timers; /* borrowed */
    size_t frames;         /* in one interval, at least 1 */
    int32_t interval_ms;
    size_t left;       /* in this interval */
    struct timer ends; /* set while an interval runs; none runs while nothing is received */
};

/* An interval begins with the first frame that is taken in it. When it ends, `on_end` is called
 * with `context`. NULL: no memory. */
struct quota *quota_new(struct timers *timers, size_t frames, int32_t interval_ms,
                        timers_callback *on_end, void *context);

/* For all of these NULL is no quota. */
void quota_free(struct quota *q);

/* How many frames may be taken now; SIZE_MAX without a quota. 0 is a delay and no error: frames
 * that wait are not lost. */
size_t quota_left(const struct quota *q);

/* Counts frames that have been taken, at most as many as are left. The first of them begins an
 * interval, if none runs. */
void quota_take(struct quota *q, size_t frames);

/* To be called first by `on_end`: the quota is whole again. */
void quota_renew(struct quota *q);

#endif

/* How many frames a connection may have answered in an interval: the rest waits, unread, until the
 * next one. */
#ifndef QUOTA_H
#define QUOTA_H

#include <stddef.h>
#include <stdint.h>

#include "timers.h"

struct quota {
    struct timers *timers; /* borrowed */
    size_t frames;         /* of one interval, at least 1 */
    int32_t interval_ms;
    size_t left;       /* of this one */
    struct timer ends; /* is set while an interval runs: one that nobody uses does not */
};

/* An interval begins with the first frame that is taken in it. `on_end` is given `context` when it
 * is over and the quota is whole again. NULL: no memory. */
struct quota *quota_new(struct timers *timers, size_t frames, int32_t interval_ms,
                        timers_callback *on_end, void *context);

/* For all of these NULL is no quota. */
void quota_free(struct quota *q);

/* How many frames may be taken now. Nothing that waits is lost: so 0 is no error, it is a delay. */
size_t quota_left(const struct quota *q);

/* Counts frames that have been taken, at most as many as are left. */
void quota_take(struct quota *q, size_t frames);

/* To be called first by on_end: all frames are left again. */
void quota_renew(struct quota *q);

#endif

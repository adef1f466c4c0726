/* How long a peer may take: two timers for each connection. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "events/timers.h"

struct timeouts {
    struct timers *timers; /* borrowed */
    int32_t idle_ms;       /* 0: no limit */
    int32_t frame_ms;      /* 0: no limit */
    timers_callback *on_idle;
    void *context;
    int64_t moved_us;      /* when a byte came or went last, see clock.h */
    struct timer idle;     /* is set all the time; when it is due, it looks at moved_us */
    struct timer frame;    /* is set while we wait for the remainder of a frame */
    int64_t frame_end_us;  /* when the time of that frame is over */
    int64_t frame_left_us; /* what was left of it when the timer was last cancelled */
};

/* When a time is over, its callback is called with `context`. NULL: no memory. */
struct timeouts *timeouts_new(struct timers *timers, int32_t idle_ms, int32_t frame_ms,
                              timers_callback *on_idle, timers_callback *on_frame, void *context);

/* In all of these, NULL means no time-outs. */
void timeouts_free(struct timeouts *t);

/* Bytes have come or gone: the peer is there, and has idle_ms from now. */
void timeouts_traffic(struct timeouts *t);

/* To be called whenever the input has been parsed. `waits`: a frame has begun, and we wait for the
 * peer to send its remainder. `passed`: a frame was completed since the last call, so the one that
 * has begun is a new one. The time of a frame stands still while we do not wait for it. */
void timeouts_frame(struct timeouts *t, bool waits, bool passed);

#endif

/* How much of the server a client may use: how long it may take, and how many of its frames are
 * answered in an interval. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/timers.h"

/* The settings, which are the same for all clients. */
struct limits {
    int32_t idle_timeout_ms;   /* 0: none */
    int32_t frame_timeout_ms;  /* 0: none */
    size_t quota_frames;       /* in one interval; 0: no quota */
    int32_t quota_interval_ms; /* at least 1 if there is a quota */
    size_t high_water;         /* stop reading once this many bytes of output are queued, */
    size_t low_water;          /* and read again at this many; at most high_water */
    int32_t max_conns;         /* 0: no limit but that of descriptors */
};

/* How long a peer may take: two timers for each connection. */
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

/* How many frames of a connection are answered in an interval. The remaining frames wait, unread,
 * until the next interval. */
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

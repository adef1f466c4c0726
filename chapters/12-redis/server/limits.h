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

/* How long a peer may take. Nothing here calls back: the code that waits for the peer asks how long
 * it may wait. */
struct timeouts {
    int32_t idle_ms;       /* 0: no limit */
    int32_t frame_ms;      /* 0: no limit */
    unsigned moves;        /* how many times bytes have come or gone */
    int64_t idle_end_us;   /* when the peer has been idle for too long; see clock.h */
    bool frame_waits;      /* we wait for the remainder of a frame, */
    int64_t frame_end_us;  /* at most until then */
    int64_t frame_left_us; /* what was left of that time when we last looked */
};

void timeouts_init(struct timeouts *t, int32_t idle_ms, int32_t frame_ms);

/* Bytes have come or gone: the peer is there. */
void timeouts_traffic(struct timeouts *t);

/* To be called whenever the input has been parsed. `waits`: a frame has begun, and we wait for the
 * peer to send its remainder. `passed`: a frame was completed since the last call, so the one that
 * has begun is a new one. The time of a frame stands still while we do not wait for it. */
void timeouts_frame(struct timeouts *t, bool waits, bool passed);

/* How many ms are left until the first of the two times is over; 0: one is over, -1: there is none.
 * `idle`: the peer has to act next, so the idle time counts. */
int timeouts_left(const struct timeouts *t, bool idle);

/* Which of the two is over: the idle time, or the time of the frame. */
bool timeouts_idle_over(const struct timeouts *t);
bool timeouts_frame_over(const struct timeouts *t);

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

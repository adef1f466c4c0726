/* How long a peer may take. Nothing here calls back: the code that waits for the peer asks how long
 * it may wait. */
#ifndef TIMEOUTS_H
#define TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

struct timeouts {
    int32_t idle_ms;  /* 0: no limit */
    int32_t frame_ms; /* 0: no limit */
    int64_t traffic;  /* when a byte last came or went; see clock_ms */
    int64_t frame;    /* when the partial frame began */
    bool frame_begun; /* there is a partial frame */
};

void timeouts_init(struct timeouts *t, int32_t idle_ms, int32_t frame_ms);

/* Bytes have come or gone: the peer is there. */
void timeouts_traffic(struct timeouts *t);

/* To be called whenever the input has been parsed. `waits`: a frame has begun, and we wait for the
 * peer to send its remainder. `passed`: a frame was completed since the last call, so the one that
 * has begun is a new one. */
void timeouts_frame(struct timeouts *t, bool waits, bool passed);

/* How many ms are left until the first of the two times is over; 0: one is over, -1: there is none.
 * `idle`: the peer has to act next, so the idle time counts. */
int timeouts_left(const struct timeouts *t, bool idle);

/* Which of the two is over: the idle time, or the time of the frame. */
bool timeouts_idle_over(const struct timeouts *t);
bool timeouts_frame_over(const struct timeouts *t);

#endif

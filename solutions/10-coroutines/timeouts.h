/* How long a peer may take. Nothing here calls anybody: who waits for the peer asks how long it
 * may. */
#ifndef TIMEOUTS_H
#define TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

struct timeouts {
    int32_t idle_ms;  /* 0: no limit */
    int32_t frame_ms; /* 0: no limit */
    int64_t traffic;  /* when something last came or went; see clock_ms */
    int64_t frame;    /* when the frame was begun that is awaited */
    bool frame_begun; /* there is one */
};

void timeouts_init(struct timeouts *t, int32_t idle_ms, int32_t frame_ms);

/* Bytes have come or gone: the peer is there. */
void timeouts_traffic(struct timeouts *t);

/* To be called whenever the input has been looked at. `waits`: a frame has begun, and it is the
 * peer whom we wait for. `passed`: a frame has been completed since the last call; so it is another
 * one that has begun. */
void timeouts_frame(struct timeouts *t, bool waits, bool passed);

/* How many ms are left until the first of the times is over; 0: one is, -1: there is none. `idle`:
 * it is the peer who should do something, so that the idle time counts. */
int timeouts_left(const struct timeouts *t, bool idle);

/* Which of them is over: whether the idle time is, or that of the frame. */
bool timeouts_idle_over(const struct timeouts *t);
bool timeouts_frame_over(const struct timeouts *t);

#endif

/* How long a peer may take: one pair of timers for a connection. */
#ifndef TIMEOUTS_H
#define TIMEOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "timers.h"

struct timeouts {
    struct timers *timers; /* borrowed */
    int32_t idle_ms;       /* 0: no limit */
    int32_t frame_ms;      /* 0: no limit */
    struct timer idle;     /* runs out when nothing has come or gone for so long */
    struct timer frame;    /* is set while a frame is begun and not complete */
};

/* The callbacks are given `context` when a time has run out. NULL: no memory. */
struct timeouts *timeouts_new(struct timers *timers, int32_t idle_ms, int32_t frame_ms,
                              timers_callback *on_idle, timers_callback *on_frame, void *context);

/* For all of these NULL is no time-outs. */
void timeouts_free(struct timeouts *t);

/* Bytes have come or gone: the peer is there. */
void timeouts_traffic(struct timeouts *t);

/* To be called whenever the input has been looked at. `waits`: a frame has begun, and it is the
 * peer whom we wait for. `passed`: a frame has been completed since the last call; so it is another
 * one that has begun. */
void timeouts_frame(struct timeouts *t, bool waits, bool passed);

#endif

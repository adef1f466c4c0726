/* How long a peer may take: one pair of timers for a connection. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "timers.h"

struct limits {
    struct timers *timers; /* borrowed */
    int32_t idle_ms;       /* 0: no limit */
    int32_t frame_ms;      /* 0: no limit */
    struct timer idle;     /* runs out when nothing has come or gone for so long */
    struct timer frame;    /* is set while a frame is begun and not complete */
};

/* The callbacks are given `context` when a time has run out. NULL: no memory. */
struct limits *limits_new(struct timers *timers, int32_t idle_ms, int32_t frame_ms,
                          timers_callback *on_idle, timers_callback *on_frame, void *context);

/* For all of these NULL is no limits. */
void limits_free(struct limits *l);

/* Bytes have come or gone: the peer is there. */
void limits_traffic(struct limits *l);

/* To be called whenever the input has been looked at. `waits`: a frame has begun, and it is the peer
 * whom we wait for. `passed`: a frame has been completed since the last call; so it is another one
 * that has begun. */
void limits_frame(struct limits *l, bool waits, bool passed);

#endif

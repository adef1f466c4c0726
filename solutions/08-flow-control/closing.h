/* The end of a connection that owes something: who is waited for then, and for how long at most. */
#ifndef CLOSING_H
#define CLOSING_H

#include <stdbool.h>

#include "timers.h"

/* How long a peer may take nothing of what it is owed; and how long, when it has got all, it may
 * take to hear that this was all. */
enum { LINGER_MS = 5000 };

struct closing {
    struct timers *timers; /* borrowed */
    int fd;                /* borrowed */
    struct timer timer;    /* set while it is the peer whom we wait for */
    int unsent;            /* what the kernel had for the peer when it was set */
    timers_callback *on_end;
    void *context;
};

/* `on_end` is given `context` when the peer has taken too long. NULL: no memory. */
struct closing *closing_new(struct timers *timers, int fd, timers_callback *on_end, void *context);

/* NULL is no closing. */
void closing_free(struct closing *closing);

/* We wait for the peer, or do not. It has LINGER_MS from the moment when we began to wait, or from
 * its last progress, if that was later. False: no memory. NULL is no closing. */
bool closing_wait(struct closing *closing, bool waits);

/* The peer has taken something. NULL is no closing. */
void closing_progress(struct closing *closing);

#endif

/* One message for all connections, of all loops: carried from loop to loop as tasks.
 *
 *     loop of the sender      a delivery into each loop, its own too
 *     each loop               pushes the message to its connections, counts them; the last one
 *                             sends the answer back
 *     loop of the sender      answers: how many it were */
#ifndef BROADCAST_H
#define BROADCAST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conn.h"
#include "loop.h"
#include "reader.h"

struct broadcast;

/* What one loop has to do of a broadcast. */
struct delivery {
    struct task task;
    struct broadcast *broadcast;
    struct service *service;
};

struct broadcast {
    struct conn *from; /* who waits for the answer. NULL: it is gone. For its loop's thread alone */
    struct service *home; /* the one of `from` */
    int32_t seq;          /* of the request */
    struct task answer;
    atomic_int loops_left;  /* where it has not been delivered yet */
    atomic_int reached;     /* connections, so far */
    struct bytes text;      /* owned: behind the deliveries */
    struct delivery each[]; /* one for each loop */
};

/* Sends a copy of the text to all connections. Until the answer is made it is `from->broadcast`. False:
 * no memory. */
bool broadcast_start(struct conn *from, int32_t seq, struct bytes text);

/* Who has sent it will not take the answer; the message goes on its way. NULL is no broadcast. */
void broadcast_forget(struct broadcast *broadcast);

#endif

/* One message for all connections: a task that goes from loop to loop, and back to where it began.
 *
 *     loop of the sender  ->  the next loop  ->  ...  ->  the last one  ->  loop of the sender
 *     pushes it to its        the same                    the same          answers how many
 *     connections                                                           it reached
 *
 * In each loop the loop's own thread runs it. So no thread waits for another, and the broadcast
 * belongs to one thread at every moment. */
#ifndef BROADCAST_H
#define BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "server/conn.h"
#include "server/loop.h"
#include "wire/reader.h"

struct broadcast {
    struct task task;

    /* Never changed. */
    struct server *server; /* borrowed */
    int home;              /* index of the loop where it began */
    int32_t seq;           /* of the request */
    size_t size;           /* of the text */

    /* For the thread of the loop that it is in. */
    int at;          /* index of that loop */
    int32_t reached; /* connections so far */

    /* For the thread of `home` alone. */
    struct conn *from; /* waits for the answer. NULL: it is gone */

    uint8_t text[]; /* never changed */
};

/* Sends a copy of the text to all connections, and then calls conn_broadcast_done() for `from`.
 * Until then it is `from->broadcast`. Nothing is pushed before this returns. False: no memory. */
bool broadcast_start(struct conn *from, int32_t seq, struct bytes text);

/* This connection will not take the answer to its broadcast, if it has one. The message itself
 * still goes to all. */
void broadcast_forget(struct conn *from);

#endif

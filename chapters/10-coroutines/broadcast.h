/* One message for all connections: a task that goes from loop to loop, and back to where it began.
 *
 *     loop of the sender  ->  the next loop  ->  ...  ->  the last one  ->  loop of the sender
 *     pushes it to its        the same                    the same          answers: how many
 *     connections                                                           they were
 *
 * In each loop it is that loop's thread that works for it. So nobody waits for anybody, and nothing
 * is used by two threads at a time. */
#ifndef BROADCAST_H
#define BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "conn.h"
#include "loop.h"
#include "reader.h"

struct broadcast {
    struct task task;
    struct services *all; /* borrowed */
    int home;             /* the loop where it began */
    int at;               /* the loop where it is */
    struct conn *from;    /* it awaits the answer; or NULL. Only for the thread of `home` */
    int32_t seq;          /* of the request */
    int32_t reached;      /* connections, so far */
    size_t size;
    uint8_t text[];
};

/* Sends a copy of the text to all connections. Until the answer is made it is `from->broadcast`.
 * False: no memory. */
bool broadcast_start(struct conn *from, int32_t seq, struct bytes text);

/* Who has sent it will not take the answer; the message goes on its way. NULL is no broadcast. */
void broadcast_forget(struct broadcast *broadcast);

#endif

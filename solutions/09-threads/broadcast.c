#include "broadcast.h"

#include <stdlib.h>
#include <string.h>

#include "service.h"

/* Back in the sender's loop: all loops have done their part. */
static void answer(struct task *task)
{
    struct broadcast *b = (struct broadcast *)((char *)task - offsetof(struct broadcast, answer));
    if (b->from != NULL)
        conn_broadcast_done(b->from, b->seq, atomic_load(&b->reached));
    free(b);
}

/* Pushes the message to the connections of one loop, in that loop's thread. */
static void deliver(struct task *task)
{
    struct delivery *delivery = (struct delivery *)task; /* its first member */
    struct broadcast *b = delivery->broadcast;
    int reached = 0;
    struct conn *next;
    for (struct conn *c = LIST_FIRST(&delivery->service->conns); c != NULL; c = next) {
        next = LIST_NEXT(c, others); /* the push may be the end of this one */
        reached += conn_push(c, b->text);
    }
    // BEGIN delivered
    atomic_fetch_add(&b->reached, reached);
    /* Only one can be the last, and it sees what the others have added before. Behind this line the
     * broadcast may be freed at any moment, unless we are that one. */
    if (atomic_fetch_sub(&b->loops_left, 1) == 1)
        queue_in_loop(&b->home->loop, &b->answer);
    // END delivered
}

bool broadcast_start(struct conn *from, int32_t seq, struct bytes text)
{
    struct services *all = from->service->all;
    int loops = all->count;
    size_t head = sizeof(struct broadcast) + (size_t)loops * sizeof(struct delivery);
    struct broadcast *b = malloc(head + text.size);
    if (b == NULL)
        return false;
    uint8_t *copy = (uint8_t *)b + head;
    memcpy(copy, text.data, text.size);
    *b = (struct broadcast){
        .from = from,
        .home = from->service,
        .seq = seq,
        .answer = {.run = answer},
        .loops_left = loops,
        .text = {copy, text.size},
    };
    from->broadcast = b;
    // BEGIN start
    /* Queued in the sender's own loop, too: its connections are not to be touched in the middle of a
     * call, and the sender itself is in one. */
    for (int i = 0; i < loops; i++) {
        struct service *service = &all->each[i];
        b->each[i] =
            (struct delivery){.task = {.run = deliver}, .broadcast = b, .service = service};
        queue_in_loop(&service->loop, &b->each[i].task);
    }
    // END start
    return true;
}

void broadcast_forget(struct broadcast *broadcast)
{
    if (broadcast != NULL)
        broadcast->from = NULL;
}

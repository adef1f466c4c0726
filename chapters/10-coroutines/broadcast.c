#include "broadcast.h"

#include <stdlib.h>
#include <string.h>

#include "service.h"

/* Back in the sender's loop: it has been in all of them. */
static void answer(struct task *task)
{
    struct broadcast *b = (struct broadcast *)task; /* its first member */
    if (b->from != NULL)
        conn_broadcast_done(b->from, b->seq, b->reached);
    free(b);
}

/* Pushes the message to all connections of a loop, in that loop's thread. Returns how many. */
static int32_t push_to_all(struct service *service, struct bytes text)
{
    int32_t reached = 0;
    struct conn *next;
    for (struct conn *c = LIST_FIRST(&service->conns); c != NULL; c = next) {
        next = LIST_NEXT(c, others); /* the push may be the end of this one */
        reached += conn_push(c, text);
    }
    return reached;
}

static void visit(struct task *task)
{
    struct broadcast *b = (struct broadcast *)task; /* its first member */
    b->reached += push_to_all(&b->all->each[b->at], (struct bytes){b->text, b->size});
    b->at = (b->at + 1) % b->all->count;
    if (b->at == b->home)
        b->task.run = answer;
    /* From here on it is the next loop's: that may have freed it before this call returns. */
    queue_in_loop(&b->all->each[b->at].loop, &b->task);
}

bool broadcast_start(struct conn *from, int32_t seq, struct bytes text)
{
    struct broadcast *b = malloc(sizeof *b + text.size);
    if (b == NULL)
        return false;
    struct loop *loop = &from->service->loop;
    *b = (struct broadcast){
        .task = {.run = visit},
        .all = from->service->all,
        .home = loop->index,
        .at = loop->index,
        .from = from,
        .seq = seq,
        .size = text.size,
    };
    memcpy(b->text, text.data, text.size);
    from->broadcast = b;
    /* Not run at once, though it is our own loop: the sender is in the middle of a call, and a push
     * could end it. */
    queue_in_loop(loop, &b->task);
    return true;
}

void broadcast_forget(struct broadcast *broadcast)
{
    if (broadcast != NULL)
        broadcast->from = NULL;
}

#include "server/broadcast.h"

#include <stdlib.h>
#include <string.h>

#include "server/flow.h"
#include "server/server.h"

/* Back in the sender's loop, after all others. */
static void answer(struct task *task)
{
    struct broadcast *b = (struct broadcast *)task; /* its first member */
    if (b->from != NULL) {
        b->from->broadcast = NULL;
        conn_broadcast_done(b->from, b->seq, b->reached);
    }
    free(b);
}

/* Pushes the message to all connections of a loop, in that loop's thread. Returns how many. */
static int32_t push_to_all(struct worker *worker, struct bytes text)
{
    int32_t reached = 0;
    struct conn *c;
    for (c = LIST_FIRST(&worker->conns); c != NULL; c = LIST_NEXT(c, others)) {
        loop_spend(&worker->loop, MESSAGE_COST + text.size);
        reached += conn_push(c, text);
    }
    return reached;
}

static void visit(struct task *task)
{
    struct broadcast *b = (struct broadcast *)task; /* its first member */
    b->reached += push_to_all(&b->server->workers[b->at], (struct bytes){b->text, b->size});
    b->at = (b->at + 1) % b->server->count;
    if (b->at == b->home)
        b->task.run = answer;
    /* Now it belongs to the next loop, which may have freed it before this call returns. */
    queue_in_loop(&b->server->workers[b->at].loop, &b->task);
}

bool broadcast_start(struct conn *from, int32_t seq, struct bytes text)
{
    struct broadcast *b = malloc(sizeof *b + text.size);
    if (b == NULL)
        return false;
    struct loop *loop = &from->worker->loop;
    *b = (struct broadcast){
        .task = {.run = visit},
        .server = from->worker->server,
        .home = loop->index,
        .seq = seq,
        .size = text.size,
        .at = loop->index,
        .from = from,
    };
    memcpy(b->text, text.data, text.size);
    from->broadcast = b;
    /* Queued, though this is its own loop: the sender is in the middle of its turn. */
    queue_in_loop(loop, &b->task);
    return true;
}

void broadcast_forget(struct conn *from)
{
    if (from->broadcast != NULL)
        from->broadcast->from = NULL;
    from->broadcast = NULL;
}

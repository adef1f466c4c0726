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

/* TODO 5: Send a message to the connections of all loops, with one task that goes from loop to
 * loop and comes back to the sender's loop with the answer. Graded by
 * test_09_broadcast_reaches_all.
 * broadcast.h has the contract and the path of the task: visit() runs in each loop, answer() at
 * the end. conn_push() sends to one connection. The stub refuses every broadcast. */
static void visit(struct task *task)
{
    answer(task);
}

bool broadcast_start(struct conn *from, int32_t seq, struct bytes text)
{
    (void)from, (void)seq, (void)text, (void)visit;
    return false;
}

void broadcast_forget(struct conn *from)
{
    if (from->broadcast != NULL)
        from->broadcast->from = NULL;
    from->broadcast = NULL;
}

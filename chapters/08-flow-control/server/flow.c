#include "server/flow.h"

#include "wire/frame.h"

/* TODO 1: Bound what a connection does in one iteration by a budget of BUDGET_BYTES. If work is
 * left at the end of a turn that no event will report, have the connection called again in the
 * next iteration. Graded by test_08_fire_hoses_do_not_keep_the_loop.
 * flow.h has the contract of the four functions. The stub has no budget, and another turn only
 * for input that is unread. */
void flow_begin_turn(struct conn *c)
{
    c->budget = BUDGET_BYTES;
}

size_t flow_room(const struct conn *c)
{
    size_t waiting = buffer_len(&c->out);
    size_t high_water = c->server->config->limits.high_water;
    return c->suspended || waiting >= high_water ? 0 : high_water - waiting;
}

void flow_spend(struct conn *c, size_t cost)
{
    (void)c, (void)cost;
}

void flow_end_turn(struct conn *c)
{
    if (c->readable && flow_wants_input(c))
        conn_again(c);
}

/* TODO 2: Suspend the connection at high water, resume it at low water, and say whether it is to
 * be read now. Graded by test_08_reads_again_at_low_water.
 * flow.h has the contract of both functions. Take the quota into account here, too. */
bool flow_wants_input(const struct conn *c)
{
    return c->state == CONN_OPEN && !c->suspended;
}

void flow_look(struct conn *c)
{
    c->suspended = buffer_len(&c->out) >= c->server->config->limits.high_water;
}

size_t flow_space(const struct conn *c)
{
    size_t held = buffer_len(&c->in);
    if (held < READ_BYTES)
        return READ_BYTES - held;
    size_t size = frame_size(&c->server->config->framing, buffer_head(&c->in), held);
    return size > held ? size - held : READ_BYTES;
}

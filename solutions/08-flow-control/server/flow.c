#include "server/flow.h"

#include "wire/frame.h"

// BEGIN budget
void flow_begin_turn(struct conn *c)
{
    c->budget = BUDGET_BYTES;
}

size_t flow_room(const struct conn *c)
{
    size_t waiting = buffer_len(&c->out);
    size_t high_water = c->server->config->limits.high_water;
    if (c->suspended || waiting >= high_water)
        return 0;
    size_t room = high_water - waiting;
    return room < c->budget ? room : c->budget;
}

void flow_spend(struct conn *c, size_t cost)
{
    c->budget -= cost < c->budget ? cost : c->budget;
}

void flow_end_turn(struct conn *c)
{
    bool unread = c->readable && flow_wants_input(c);
    if (c->budget == 0 || unread)
        conn_again(c);
}
// END budget

// BEGIN water
bool flow_wants_input(const struct conn *c)
{
    if (c->state == CONN_LINGERING)
        return true;
    return c->state == CONN_OPEN && !c->suspended && quota_left(c->quota) > 0;
}

void flow_look(struct conn *c)
{
    size_t waiting = buffer_len(&c->out);
    if (waiting >= c->server->config->limits.high_water)
        c->suspended = true;
    else if (waiting <= c->server->config->limits.low_water)
        c->suspended = false;
}
// END water

size_t flow_space(const struct conn *c)
{
    size_t held = buffer_len(&c->in);
    if (held < READ_BYTES)
        return READ_BYTES - held;
    size_t size = frame_size(&c->server->config->framing, buffer_head(&c->in), held);
    return size > held ? size - held : READ_BYTES;
}

#include "server/grace.h"

#include "base/log.h"
#include "net/net.h"
#include "server/flow.h"

// BEGIN grace
static void on_deadline(struct timer *timer, void *context)
{
    struct server *server = context;
    (void)timer;
    log_line("clients are still owed something, but the time to end is over");
    events_stop(server->events);
}

void grace_serve(struct server *server)
{
    struct timer deadline = {.call = on_deadline, .context = server};
    bool goes_on = timer_set(server->timers, &deadline, server->config->grace_ms, false);
    server->ending = true;
    for (struct conn *c = LIST_FIRST(&server->conns); c != NULL; c = LIST_NEXT(c, others))
        conn_again(c); /* an idle one is not called by anything else */
    while (goes_on && !events_stopping(server->events) && !LIST_EMPTY(&server->conns)) {
        events_turn(server->events, timers_timeout(server->timers));
        timers_run(server->timers);
    }
    timer_cancel(server->timers, &deadline);
}

void grace_look(struct conn *c)
{
    if (!c->server->ending || c->state != CONN_OPEN)
        return;
    /* Frames may be left in `in`, or in the kernel: it comes here again when it may go on. */
    if (c->readable || c->budget == 0 || !flow_wants_input(c))
        return;
    if (net_unread(c->watch.fd) > 0)
        c->readable = true; /* no event has reported it yet */
    else
        conn_drain(c, "server ends");
}
// END grace

#include "server/grace.h"

#include <stddef.h>

#include "base/log.h"
#include "net/net.h"
#include "server/flow.h"

/* Runs in the thread of its worker, after the connections on their way there have arrived. */
static void begin(struct task *task)
{
    struct worker *worker = (struct worker *)((char *)task - offsetof(struct worker, ends));
    worker->ending = true;
    for (struct conn *c = LIST_FIRST(&worker->conns); c != NULL; c = LIST_NEXT(c, others))
        conn_again(c); /* an idle one is not called otherwise */
}

static void on_deadline(struct timer *timer, void *context)
{
    struct server *server = context;
    (void)timer;
    log_line("clients are still owed something, but the time to end is over");
    events_stop(server->workers[0].loop.events);
}

void grace_serve(struct server *server)
{
    struct worker *first = &server->workers[0];
    struct timer deadline = {.call = on_deadline, .context = server};
    bool goes_on = timer_set(first->loop.timers, &deadline, server->config->grace_ms, false);
    for (int i = 0; i < server->count; i++) {
        server->workers[i].ends = (struct task){.run = begin};
        run_in_loop(&server->workers[i].loop, &server->workers[i].ends);
    }
    while (goes_on && !events_stopping(first->loop.events) && server_counts(server).connections > 0)
        loop_turn(&first->loop);
    timer_cancel(first->loop.timers, &deadline);
}

void grace_look(struct conn *c)
{
    if (!c->worker->ending || c->state != CONN_OPEN)
        return;
    /* Frames may be left in `in`, or in the kernel: it comes here again when it may go on. */
    if (c->readable || c->budget == 0 || !flow_wants_input(c))
        return;
    if (net_unread(c->watch.fd) > 0)
        c->readable = true; /* no event has reported it yet */
    else
        conn_drain(c, "server ends");
}

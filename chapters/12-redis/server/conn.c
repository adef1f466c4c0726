#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "server/answer.h"
#include "server/app.h"
#include "server/flow.h"
#include "server/rpc.h"
#include "server/serve.h"

void conn_end(struct conn *c, enum conn_end how, const char *reason)
{
    if (how <= c->end)
        return;
    c->end = how;
    c->reason = reason;
}

void conn_close(struct conn *c, const char *reason)
{
    conn_end(c, CONN_BROKEN, reason);
    co_cancel(c->serving);
}

void conn_forget_later(struct conn *c)
{
    c->worker->config->app->forget(c);
}

/* Closes the socket and frees everything. While it waits, other code runs: nothing may find the
 * connection any more. */
static void free_conn(struct conn *c)
{
    LIST_REMOVE(c, others);
    if (c->is_unsent)
        LIST_REMOVE(c, unsent);
    conn_forget_later(c);
    c->worker->config->app->close(c);
    quota_free(c->quota);
    co_forget(&c->socket); /* may wait */
    if (LIST_EMPTY(&c->worker->conns))
        spare_free();
    close(c->socket.watch.fd);
    worker_left(c->worker); /* its descriptor is free, so the acceptor may be woken */
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

void conn_leave(struct conn *c)
{
    if (c->serving == NULL && c->sending == NULL)
        free_conn(c);
}

/* The coroutine that sends the output that the client did not take at once. */
static void send_rest(void *argument)
{
    struct conn *c = argument;
    while (c->end != CONN_BROKEN) {
        answer_owed(c);
        flow_look(c);
        if (buffer_len(&c->out) == 0)
            break;
        enum io_result result = co_write(&c->socket, &c->out, SEND_BYTES);
        if (result == IO_ERROR)
            conn_close(c, strerror(errno));
        if (result != IO_OK)
            continue;
        timeouts_traffic(&c->timeouts);
        flow_look(c);
        co_wake(c->serving); /* it may wait for free space, or for the last byte to be sent */
    }
    buffer_trim(&c->out);
    c->sending = NULL;
    conn_leave(c);
}

void conn_send(struct conn *c)
{
    /* Never resumes it. A send may have completed after the frames were answered for which there
     * was space. If it resumed now, it would read more, or EOF, before the frames that are left. */
    if (!c->suspended)
        flow_look(c);
    if (c->sending != NULL || c->end == CONN_BROKEN || buffer_len(&c->out) == 0)
        return;
    co_send(&c->socket, &c->out, SEND_BYTES);
}

/* What conn_send() has begun is over. */
static void on_sent(void *context, enum io_result result)
{
    struct conn *c = context;
    if (c->end == CONN_BROKEN)
        return;
    if (result == IO_ERROR) {
        conn_close(c, strerror(errno));
        return;
    }
    if (result == IO_OK)
        timeouts_traffic(&c->timeouts);
    buffer_trim(&c->out);
    flow_look(c);
    /* A coroutine that waits for input does not wait for this. */
    if (c->socket.read.waiting == NULL)
        co_wake(c->serving);
    if (buffer_len(&c->out) == 0 && alarms_owed(c->alarms) == NULL)
        return;
    c->sending = co_start(c->worker->loop.scheduler, "send", send_rest, c);
    if (c->sending == NULL)
        conn_close(c, "out of memory");
}

void conn_send_later(struct conn *c)
{
    if (c->is_unsent)
        return;
    c->is_unsent = true;
    LIST_INSERT_HEAD(&c->worker->unsent, c, unsent);
}

void conn_send_all(struct worker *worker)
{
    struct conn *c;
    while ((c = LIST_FIRST(&worker->unsent)) != NULL) {
        LIST_REMOVE(c, unsent);
        c->is_unsent = false;
        c->rung = 0;
        conn_send(c);
        /* It may wait for the last byte to be sent; but not if it waits for input. */
        if (c->socket.read.waiting == NULL)
            co_wake(c->serving);
    }
}

static void on_quota_end(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    quota_renew(c->quota);
    co_wake(c->serving);
}

bool conn_may_push(struct conn *c, size_t size)
{
    if (c->end != CONN_GOES_ON || co_is_broken(&c->socket))
        return false;
    /* A reply can be delayed, a push cannot: another client has made it. So a client that does not
     * take its pushes is closed once as much is queued as may be queued for a reply. */
    bool fits =
        buffer_len(&c->out) + size <= FRAME_MAX_BYTES + c->worker->config->limits.high_water;
    if (!fits)
        conn_close(c, "does not take its messages");
    return fits;
}

bool conn_push(struct conn *c, struct bytes text)
{
    if (!conn_may_push(c, text.size))
        return false;
    if (!rpc_push(&c->worker->stats, text, &c->out))
        conn_close(c, "out of memory");
    else
        conn_send_later(c);
    return c->end == CONN_GOES_ON;
}

void conn_broadcast_done(struct conn *c, int32_t seq, int32_t reached)
{
    if (!rpc_broadcast_done(&c->worker->stats, seq, reached, &c->out))
        conn_close(c, "out of memory");
    conn_send_later(c);
    co_wake(c->serving);
}

/* Gives the connection what its application needs, a quota and a coroutine. False: no memory. */
static bool equip(struct conn *c)
{
    struct loop *loop = &c->worker->loop;
    const struct limits *limits = &c->worker->config->limits;
    timeouts_init(&c->timeouts, limits->idle_timeout_ms, limits->frame_timeout_ms);
    if (!c->worker->config->app->open(c))
        return false;
    if (limits->quota_frames > 0) {
        c->quota = quota_new(loop->timers, limits->quota_frames, limits->quota_interval_ms,
                             on_quota_end, c);
        if (c->quota == NULL)
            return false;
    }
    c->serving = co_start(loop->scheduler, "serve", serve, c);
    return c->serving != NULL;
}

bool conn_open(int fd, struct worker *worker)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->worker = worker;
    co_socket_init(&c->socket, fd, worker->loop.events);
    c->socket.sent = on_sent;
    c->socket.context = c;
    if (!equip(c)) {
        worker->config->app->close(c);
        quota_free(c->quota);
        free(c);
        return false;
    }
    LIST_INSERT_HEAD(&worker->conns, c, others);
    return true;
}

void conn_close_all(struct worker *worker)
{
    for (struct conn *c = LIST_FIRST(&worker->conns); c != NULL; c = LIST_NEXT(c, others))
        conn_close(c, "server stops");
    /* Until the last coroutine has ended: the list is empty before. If none is ready, all of them
     * wait for operations that they have cancelled. No tasks are run any more: one of them could
     * open a connection. */
    while (co_any(worker->loop.scheduler))
        if (!co_run(worker->loop.scheduler))
            events_turn(worker->loop.events, -1);
    alarms_free_now();
}

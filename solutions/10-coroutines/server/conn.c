#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "server/answer.h"
#include "server/broadcast.h"
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
    alarms_free(c->alarms);
    c->alarms = NULL;
    broadcast_forget(c);
}

/* Closes the socket and frees everything. */
static void free_conn(struct conn *c)
{
    LIST_REMOVE(c, others);
    if (c->is_unsent)
        LIST_REMOVE(c, unsent);
    if (LIST_EMPTY(&c->worker->conns))
        spare_free();
    conn_forget_later(c);
    quota_free(c->quota);
    co_forget(&c->socket);
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
    // BEGIN send_rest
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
    // END send_rest
    buffer_trim(&c->out);
    c->sending = NULL;
    conn_leave(c);
}

void conn_send(struct conn *c)
{
    flow_look(c);
    if (c->sending != NULL || c->end == CONN_BROKEN || buffer_len(&c->out) == 0)
        return;
    size_t size = buffer_len(&c->out) < SEND_BYTES ? buffer_len(&c->out) : SEND_BYTES;
    size_t moved = 0;
    if (io_write(c->socket.watch.fd, buffer_head(&c->out), size, &moved) == IO_ERROR) {
        conn_close(c, strerror(errno));
        return;
    }
    if (moved > 0)
        timeouts_traffic(&c->timeouts);
    buffer_consume(&c->out, moved);
    buffer_trim(&c->out);
    flow_look(c);
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

/* An alarm rings until its last reply is made, or its connection is freed. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    /* One that rings later does not come before those that are owed. */
    if (flow_room(c) > 0 && c->rung < TURN_MESSAGES && alarms_owed(c->alarms) == NULL) {
        answer_alarm(c, alarm);
        c->rung++;
    } else {
        alarms_suspend(alarm);
    }
    conn_send_later(c);
    co_wake(c->serving); /* how long it may wait has changed */
}

static void on_quota_end(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    quota_renew(c->quota);
    co_wake(c->serving);
}

bool conn_push(struct conn *c, struct bytes text)
{
    if (c->end != CONN_GOES_ON || co_is_broken(&c->socket))
        return false;
    /* A reply can be delayed, a push cannot: another client has made it. So a client that does not
     * take its pushes is closed once as much is queued as may be queued for a reply. */
    bool fits =
        buffer_len(&c->out) + text.size <= FRAME_MAX_BYTES + c->worker->config->limits.high_water;
    if (!fits)
        conn_close(c, "does not take what is broadcast");
    else if (!rpc_push(&c->worker->stats, text, &c->out))
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

/* Gives the connection its alarms, quota and coroutine. False: no memory. */
static bool equip(struct conn *c)
{
    struct loop *loop = &c->worker->loop;
    const struct limits *limits = &c->worker->config->limits;
    timeouts_init(&c->timeouts, limits->idle_timeout_ms, limits->frame_timeout_ms);
    if (c->worker->config->app == APP_RPC) {
        c->alarms = alarms_new(loop->timers, on_alarm, c);
        if (c->alarms == NULL)
            return false;
    }
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
    if (!equip(c)) {
        alarms_free(c->alarms);
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
    while (!LIST_EMPTY(&worker->conns) && co_run(worker->loop.scheduler))
        continue;
    alarms_free_now();
}

#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "net/io.h"
#include "net/net.h"
#include "server/answer.h"
#include "server/flow.h"
#include "server/grace.h"

void conn_close(struct conn *c, const char *reason)
{
    if (c->state == CONN_CLOSED)
        return;
    log_line("fd %d: closed: %s", c->watch.fd, reason);
    c->state = CONN_CLOSED;
}

static timers_callback on_closing_time;

void conn_drain(struct conn *c, const char *reason)
{
    // BEGIN drain
    c->state = CONN_DRAINING;
    buffer_free(&c->in);
    // END drain
    c->closing = malloc(sizeof *c->closing);
    if (c->closing == NULL)
        conn_close(c, "out of memory");
    else
        *c->closing =
            (struct closing){.reason = reason, .timer = {.call = on_closing_time, .context = c}};
}

/* Drains for a peer that has broken the rules: replies for later are not owed to it. */
static void give_up(struct conn *c, const char *reason)
{
    alarms_free(c->alarms);
    c->alarms = NULL;
    conn_drain(c, reason);
}

/* The kernel has taken so many bytes of the output. */
static void sent(struct conn *c, size_t size)
{
    buffer_consume(&c->out, size);
    flow_look(c);
    flow_spend(c, size + CALL_COST);
    timeouts_traffic(c->timeouts);
    if (c->closing != NULL) /* progress: wait_for_peer() sets it again, with the whole time */
        timer_cancel(c->server->timers, &c->closing->timer);
}

/* Sends until everything is sent, the kernel takes no more, or the budget is used up. One send() is
 * always made: replies made in this turn are sent in it, even if they have used up the budget. */
static void flush(struct conn *c)
{
    flow_look(c);
    while (c->state != CONN_CLOSED && c->writable && buffer_len(&c->out) > 0) {
        size_t size = buffer_len(&c->out) < SEND_BYTES ? buffer_len(&c->out) : SEND_BYTES;
        size_t moved;
        switch (io_write(c->watch.fd, buffer_head(&c->out), size, &moved)) {
        case IO_OK:
            sent(c, moved);
            break;
        case IO_AGAIN:
            c->writable = false;
            break;
        default:
            conn_close(c, strerror(errno));
        }
        if (c->budget == 0)
            return;
    }
}

static void read_once(struct conn *c)
{
    size_t space = flow_space(c), size = space < BUDGET_BYTES ? space : BUDGET_BYTES;
    if (!buffer_reserve(&c->in, space)) {
        conn_close(c, "out of memory");
        return;
    }
    size_t moved = 0;
    switch (io_read(c->watch.fd, buffer_tail(&c->in), size, &moved)) {
    case IO_OK:
        if (c->state == CONN_OPEN) { /* else it lingers: the bytes are thrown away */
            buffer_fill(&c->in, moved);
            timeouts_traffic(c->timeouts);
        }
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
        c->ended = true;
        if (c->state == CONN_OPEN)
            conn_drain(c, buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
        break;
    case IO_ERROR:
        conn_close(c, strerror(errno));
        break;
    }
    // BEGIN drained
    /* A short read has emptied the socket, and bytes that come later are reported. But EOF is not
     * reported again if it was reported with the last bytes. */
    c->readable = moved == size || (c->ending && moved > 0);
    // END drained
}

/* The alarm whose reply is owed and can be made now, or NULL. */
static struct alarm *next_owed(const struct conn *c)
{
    return c->state != CONN_CLOSED && flow_room(c) > 0 ? alarms_owed(c->alarms) : NULL;
}

/* Makes the replies of alarms that rang when there was no space for them, and sends them. */
static void answer_owed(struct conn *c)
{
    struct alarm *alarm;
    while ((alarm = next_owed(c)) != NULL) {
        answer_alarm(c, alarm);
        if (next_owed(c) == NULL) /* the output is full, or has all of them */
            flush(c);
    }
}

/* Closes the socket and frees everything. */
static void free_conn(struct conn *c)
{
    if (--c->server->stats.connections == 0)
        spare_free();
    LIST_REMOVE(c, others);
    alarms_free(c->alarms);
    timeouts_free(c->timeouts);
    quota_free(c->quota);
    if (c->closing != NULL)
        timer_cancel(c->server->timers, &c->closing->timer);
    free(c->closing);
    events_del(c->server->events, &c->watch);
    close(c->watch.fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

/* Watches what the connection waits for now, and nothing else. A connection that waits for nothing
 * is still watched: a reset is reported even then. */
static void set_interest(struct conn *c)
{
    unsigned interest = 0;
    if (flow_wants_input(c))
        interest |= EVENT_READ;
    if (buffer_len(&c->out) > 0)
        interest |= EVENT_WRITE;
    if (!events_set(c->server->events, &c->watch, interest))
        conn_close(c, strerror(errno));
}

// BEGIN closing
/* Gives the peer LINGER_MS whenever it is the one that has to act. A timer that is set goes on. */
static void wait_for_peer(struct conn *c)
{
    struct closing *closing = c->closing;
    if (closing == NULL)
        return;
    if (c->state != CONN_LINGERING && buffer_len(&c->out) == 0) {
        timer_cancel(c->server->timers, &closing->timer);
    } else if (!timer_is_set(&closing->timer)) {
        closing->unsent = net_unsent(c->watch.fd);
        if (!timer_set(c->server->timers, &closing->timer, LINGER_MS, false))
            conn_close(c, "out of memory");
    }
}

/* The kernel reports a full socket as writable only when a good part of its buffer is free. A slow
 * peer may have taken less than that, and this is progress, too. */
static void on_closing_time(struct timer *timer, void *context)
{
    struct conn *c = context;
    if (c->state == CONN_CLOSED) /* it waits for its turn */
        return;
    int before = c->closing->unsent;
    c->closing->unsent = net_unsent(c->watch.fd);
    bool progress = c->closing->unsent > 0 && c->closing->unsent < before;
    if (progress && timer_set(c->server->timers, timer, LINGER_MS, false))
        return;
    conn_close(c, c->state == CONN_LINGERING ? c->closing->reason
                                             : "takes nothing of what it is owed");
    conn_again(c);
}
// END closing

// BEGIN settle
/* Everything owed has been sent. If input is unread, close() resets the connection, and a reset
 * destroys replies on their way. So unless the peer has closed, tell it that nothing more will
 * come, and throw away what it sends until it closes. */
static void finish(struct conn *c)
{
    if (c->ended || shutdown(c->watch.fd, SHUT_WR) < 0)
        conn_close(c, c->closing->reason);
    else
        c->state = CONN_LINGERING;
}

/* The end of a turn: closes a connection that owes nothing more, gives back memory that is not
 * needed, and sets what to wait for next. The connection may be gone after it. */
static void settle(struct conn *c)
{
    bool sent_all = buffer_len(&c->out) == 0 && !alarms_pending(c->alarms);
    if ((c->state == CONN_DRAINING && sent_all) || (c->state == CONN_LINGERING && c->ended))
        finish(c);
    wait_for_peer(c);
    buffer_trim(&c->in);
    buffer_trim(&c->out);
    if (c->state != CONN_CLOSED)
        set_interest(c);
    if (c->state == CONN_CLOSED)
        free_conn(c);
    else
        flow_end_turn(c);
}
// END settle

// BEGIN turn
/* Answers every complete frame, and sends the replies together. Stops at the high-water mark, or
 * when the quota or the budget is used up. If sending makes space again it goes on, since no event
 * will report frames that have been read already. */
static void advance(struct conn *c)
{
    bool passed = false;
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool echo = c->server->config->app == APP_ECHO;
        struct run run = echo ? answer_run(c) : answer_messages(c);
        if (run.frames == 0 && run.bad)
            give_up(c, "frame too long");
        if (run.frames == 0)
            break;
        passed = true;
        flush(c);
    }
    bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && flow_wants_input(c);
    timeouts_frame(c->timeouts, waits, passed);
}

/* Everything that is possible without waiting, in one order, whatever the reason for this turn. It
 * is called once in an iteration, so the budget is one for an iteration. Sending comes first, since
 * it makes space for replies. Frames that are left come before further input. */
static void turn(struct conn *c)
{
    flow_begin_turn(c);
    flush(c);
    answer_owed(c);
    advance(c);
    if (c->readable && flow_wants_input(c) && c->budget > 0) {
        read_once(c);
        advance(c);
    }
    grace_look(c);
    settle(c);
}

/* The next interval: the quota is whole. Frames that had to wait lie in `in`, and no event will
 * report them. */
static void on_quota_end(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    quota_renew(c->quota);
    conn_again(c);
}
// END turn

/* Notes what was reported. It may not fit the state or the interest any more, so what to do is
 * decided in the turn. */
static void on_ready(struct events *events, struct watch *watch, unsigned what)
{
    struct conn *c = watch->context;
    (void)events;
    if (what & EVENT_READ)
        c->readable = true;
    if (what & EVENT_WRITE)
        c->writable = true;
    if (what & EVENT_HANGUP)
        c->ending = true;
    /* If input is wanted, read() returns what came before the reset, and then the error. */
    if ((what & EVENT_ERROR) && !flow_wants_input(c))
        conn_close(c, strerror(net_error(watch->fd)));
    turn(c);
}

/* An alarm rings until its last reply is made, or its connection is freed. The reply is sent in the
 * next turn, together with all others that are due now. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    if (flow_room(c) == 0 || alarms_owed(c->alarms) != NULL) /* it comes after those */
        alarms_suspend(alarm);
    else
        answer_alarm(c, alarm);
    conn_again(c);
}

/* No byte has come or gone for long. That is fine if the next to act is this server. */
static void on_idle(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    bool ours = alarms_pending(c->alarms) || quota_left(c->quota) == 0;
    if (ours && buffer_len(&c->out) == 0) {
        timeouts_traffic(c->timeouts);
        return;
    }
    conn_close(c, "idle");
    conn_again(c);
}

static void on_frame_timeout(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    if (c->state == CONN_OPEN) /* else it is closed already, and waits for its turn */
        give_up(c, "frame not complete in time");
    conn_again(c);
}

/* Gives the connection its alarms, time-outs and quota, if there are any. False: no memory. */
static bool equip(struct conn *c)
{
    struct timers *timers = c->server->timers;
    const struct limits *limits = &c->server->config->limits;
    bool fits = true;
    if (c->server->config->app == APP_RPC)
        fits = (c->alarms = alarms_new(timers, on_alarm, c)) != NULL;
    if (fits && (limits->idle_timeout_ms > 0 || limits->frame_timeout_ms > 0)) {
        c->timeouts = timeouts_new(timers, limits->idle_timeout_ms, limits->frame_timeout_ms,
                                   on_idle, on_frame_timeout, c);
        fits = c->timeouts != NULL;
    }
    if (fits && limits->quota_frames > 0) {
        c->quota =
            quota_new(timers, limits->quota_frames, limits->quota_interval_ms, on_quota_end, c);
        fits = c->quota != NULL;
    }
    return fits;
}

bool conn_open(int fd, struct server *server)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->watch = (struct watch){.fd = fd, .call = on_ready, .context = c};
    c->server = server;
    c->state = CONN_OPEN;
    c->writable = true; /* nearly every socket is: so sending is tried without a report */
    if (!equip(c) || !events_add(server->events, &c->watch, EVENT_READ)) {
        alarms_free(c->alarms);
        timeouts_free(c->timeouts);
        quota_free(c->quota);
        free(c);
        return false;
    }
    LIST_INSERT_HEAD(&server->conns, c, others);
    server->stats.connections++;
    timeouts_traffic(c->timeouts);
    return true;
}

void conn_close_all(struct server *server)
{
    struct conn *c;
    while ((c = LIST_FIRST(&server->conns)) != NULL) {
        conn_close(c, "server stops");
        free_conn(c);
    }
    alarms_free_now();
}

#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "broadcast.h"
#include "exchange.h"
#include "flow.h"
#include "log.h"
#include "rpc.h"
#include "spare.h"

/* The events that the connection waits for, as bits; none when it is closed. */
static unsigned interest_of(const struct conn *c)
{
    bool owes = buffer_len(&c->out) > 0 || alarms_owed(c->alarms) != NULL;
    unsigned interest = 0;
    if (flow_wants_input(c))
        interest |= EVENT_READ;
    if (c->state != CONN_CLOSED && owes)
        interest |= EVENT_WRITE;
    return interest;
}

void conn_close(struct conn *c, const char *reason)
{
    log_line("fd %d: closed: %s", c->fd, reason);
    c->state = CONN_CLOSED;
}

static timers_callback on_closing_end;

/* Takes no more input; what is owed is still sent. */
void conn_drain(struct conn *c, const char *reason)
{
    // BEGIN drain
    c->state = CONN_DRAINING;
    c->reason = reason;
    buffer_free(&c->in);
    // END drain
    c->closing = closing_new(c->service->loop.timers, c->fd, on_closing_end, c);
    if (c->closing == NULL)
        conn_close(c, "out of memory");
}

static void forget_broadcast(struct conn *c)
{
    broadcast_forget(c->broadcast);
    c->broadcast = NULL;
}

/* The same for a peer that has broken the rules: replies for later are not owed to it. */
void conn_give_up(struct conn *c, const char *reason)
{
    alarms_free(c->alarms);
    c->alarms = NULL;
    forget_broadcast(c);
    conn_drain(c, reason);
}

/* Closes the socket and frees everything. */
static void free_conn(struct conn *c)
{
    LIST_REMOVE(c, others);
    if (LIST_EMPTY(&c->service->conns))
        spare_free();
    service_left(c->service);
    forget_broadcast(c);
    alarms_free(c->alarms);
    timeouts_free(c->timeouts);
    quota_free(c->quota);
    closing_free(c->closing);
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

static events_callback on_ready;

/* Watches the events that the connection waits for now, and no others. */
static void set_interest(struct conn *c)
{
    struct events *events = c->service->loop.events;
    unsigned before = events_interest(events, c->fd);
    unsigned after = interest_of(c);
    for (unsigned event = EVENT_READ; event <= EVENT_WRITE; event <<= 1) {
        if (before & ~after & event)
            events_del(events, c->fd, event);
        if (after & ~before & event && !events_add(events, c->fd, event, on_ready, c))
            conn_close(c, strerror(errno));
    }
}

/* All that was owed is sent. Where the peer may still be sending, close() would be a reset, and
 * that destroys replies which are on their way: so it is told that nothing more will come, and what
 * it sends until it has heard that is thrown away. */
static void finish(struct conn *c)
{
    // BEGIN finish
    if (c->ended || shutdown(c->fd, SHUT_WR) < 0)
        conn_close(c, c->reason);
    else
        c->state = CONN_LINGERING;
    // END finish
}

/* The end of every callback: closes a connection that owes nothing more, gives back memory that is
 * not needed, and sets what to wait for next. The connection may be gone after it. */
static void settle(struct conn *c)
{
    bool sent = buffer_len(&c->out) == 0 && !alarms_pending(c->alarms) && c->broadcast == NULL;
    bool finishes = c->state == CONN_DRAINING && sent;
    if (finishes || (c->state == CONN_LINGERING && c->ended))
        finish(c);
    bool waits_for_peer = c->state == CONN_LINGERING || buffer_len(&c->out) > 0;
    if (!closing_wait(c->closing, waits_for_peer))
        conn_close(c, "out of memory");
    buffer_trim(&c->in);
    buffer_trim(&c->out);
    set_interest(c);
    // BEGIN turn_over
    /* Who has used up his turn has left something undone, and may hear no more of it. */
    if (c->budget == 0 || finishes)
        events_again(c->service->loop.events, c->fd, EVENT_READ | EVENT_WRITE);
    // END turn_over
    if (c->state == CONN_CLOSED) {
        set_interest(c);
        free_conn(c);
    }
}

/* Does everything that is possible without waiting. A report may be older than the interest or the
 * state: then there is nothing to read or to write, and nothing happens. */
static void on_ready(struct events *events, int fd, unsigned what, void *context)
{
    struct conn *c = context;
    flow_begin_turn(c);
    if (what & EVENT_HANGUP)
        c->ending = true;
    if (what & EVENT_CANCELLED) {
        conn_close(c, "not watched any more");
    } else if (what & EVENT_WRITE) {
        exchange_send(c);
        exchange_owed(c);
        exchange_answer(c);
    } else {
        exchange_answer(c); /* what the last turn has left */
        if (flow_wants_input(c) && c->budget > 0 && exchange_read(c))
            events_again(events, fd, EVENT_READ);
        exchange_answer(c);
    }
    settle(c);
}

/* An alarm rings until its last reply is made, or its connection is freed. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    flow_begin_turn(c);
    if (flow_room(c) == 0) {
        alarms_suspend(alarm);
        return;
    }
    answer_alarm(c, alarm);
    exchange_send(c);
    exchange_answer(c); /* if the output is full now, the peer is not waited for any more */
    settle(c);
}

/* No byte has come or gone for long. That is fine if the next to act is this server. */
static void on_idle(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    bool ours = alarms_pending(c->alarms) || quota_left(c->quota) == 0 || c->broadcast != NULL;
    if (ours && buffer_len(&c->out) == 0) {
        timeouts_traffic(c->timeouts);
        return;
    }
    conn_close(c, "idle");
    settle(c);
}

static void on_frame_timeout(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    conn_give_up(c, "frame not complete in time");
    settle(c);
}

static void on_quota_end(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    flow_begin_turn(c);
    // BEGIN renew
    quota_renew(c->quota);
    exchange_answer(c); /* what has been read and had to wait: no news will come of that */
    // END renew
    settle(c);
}

static void on_closing_end(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    conn_close(c, c->state == CONN_LINGERING ? c->reason : "takes nothing of what it is owed");
    settle(c);
}

/* Sends what has been added to the output by somebody else than the client. */
static void send_added(struct conn *c, bool added)
{
    if (!added)
        conn_close(c, "out of memory");
    exchange_send(c);
    exchange_answer(c);
    settle(c);
}

bool conn_push(struct conn *c, struct bytes text)
{
    if (c->state != CONN_OPEN)
        return false;
    flow_begin_turn(c);
    // BEGIN push
    /* It cannot be put off, as replies can: others have made it. So who does not take what he is
     * sent is closed, where as much waits for him as may wait for a reply. */
    if (buffer_len(&c->out) + text.size > FRAME_MAX_BYTES + c->service->limits.high_water) {
        conn_close(c, "does not take what is broadcast");
        settle(c);
        return false;
    }
    // END push
    send_added(c, rpc_push(&c->service->stats, text, &c->out));
    return true;
}

void conn_broadcast_done(struct conn *c, int32_t seq, int32_t reached)
{
    flow_begin_turn(c);
    c->broadcast = NULL;
    send_added(c, rpc_broadcast_done(&c->service->stats, seq, reached, &c->out));
}

/* Gives the connection its alarms and time-outs, if the service has them. False: no memory. */
static bool equip(struct conn *c)
{
    struct timers *timers = c->service->loop.timers;
    const struct limits *limits = &c->service->limits;
    bool fits = true;
    if (c->service->app == APP_RPC)
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

bool conn_open(int fd, struct service *service)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->fd = fd;
    c->state = CONN_OPEN;
    c->service = service;
    flow_begin_turn(c);
    if (!equip(c)) {
        alarms_free(c->alarms);
        timeouts_free(c->timeouts);
        free(c);
        return false;
    }
    LIST_INSERT_HEAD(&service->conns, c, others);
    timeouts_traffic(c->timeouts);
    settle(c);
    return true;
}

void conn_close_all(struct service *service)
{
    struct conn *c;
    while ((c = LIST_FIRST(&service->conns)) != NULL) {
        conn_close(c, "server stops");
        settle(c);
    }
}

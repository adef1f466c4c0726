#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/io.h"
#include "server/answer.h"

/* Read with one call: many small frames, or a good part of a large one. */
#define READ_BYTES (256u << 10)

/* The output is full once this much is queued: nothing more is read or answered. */
#define HIGH_WATER_BYTES (1u << 20)

size_t conn_room(const struct conn *c)
{
    size_t waiting = buffer_len(&c->out);
    return waiting < HIGH_WATER_BYTES ? HIGH_WATER_BYTES - waiting : 0;
}

/* The events that the connection waits for, as bits; none when it is closed. */
static unsigned interest_of(const struct conn *c)
{
    unsigned interest = 0;
    if (c->state == CONN_OPEN && conn_room(c) > 0)
        interest |= EVENT_READ;
    if (c->state != CONN_CLOSED && buffer_len(&c->out) > 0)
        interest |= EVENT_WRITE;
    return interest;
}

void conn_close(struct conn *c, const char *reason)
{
    log_line("fd %d: closed: %s", c->fd, reason);
    c->state = CONN_CLOSED;
}

/* Takes no more input. The replies owed are still sent. */
static void drain(struct conn *c, const char *reason)
{
    c->state = CONN_DRAINING;
    c->reason = reason;
    buffer_free(&c->in);
}

/* The same for a peer that has broken the rules: replies for later are not owed to it. */
static void give_up(struct conn *c, const char *reason)
{
    alarms_free(c->alarms);
    c->alarms = NULL;
    drain(c, reason);
}

/* Sends until the output is empty or the kernel takes no more. */
static void flush(struct conn *c)
{
    while (c->state != CONN_CLOSED && buffer_len(&c->out) > 0) {
        size_t moved;
        enum io_result result = io_write(c->fd, buffer_head(&c->out), buffer_len(&c->out), &moved);
        if (result == IO_AGAIN)
            return;
        if (result != IO_OK)
            conn_close(c, strerror(errno));
        else {
            buffer_consume(&c->out, moved);
            timeouts_traffic(c->timeouts);
        }
    }
}

/* Answers complete frames and sends the replies, until the output is full or no complete frame is
 * left. It does not wait until the socket is reported writable: it nearly always is. After sending
 * it looks again, since no event will come for frames that have been read already. */
static void advance(struct conn *c)
{
    bool passed = false;
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool bad;
        bool echo = c->service->app == APP_ECHO;
        size_t size = echo ? answer_run(c, &bad) : answer_messages(c, &bad);
        if (size == 0 && bad)
            give_up(c, "frame too long");
        if (size == 0)
            break;
        passed = true;
        flush(c);
    }
    bool waits = c->state == CONN_OPEN && buffer_len(&c->in) > 0 && conn_room(c) > 0;
    timeouts_frame(c->timeouts, waits, passed);
}

/* Makes the reply of an alarm that has rung. */
static void answer_alarm(struct conn *c, struct alarm *alarm)
{
    if (!rpc_ring(&c->service->stats, alarm, &c->out) || !alarms_answered(alarm))
        conn_close(c, "out of memory");
}

/* Sends the replies of alarms that rang when there was no space for them. */
static void answer_owed(struct conn *c)
{
    struct alarm *alarm;
    while (c->state != CONN_CLOSED && conn_room(c) > 0 &&
           (alarm = alarms_owed(c->alarms)) != NULL) {
        answer_alarm(c, alarm);
        flush(c);
    }
}

/* Reads once and answers. True: there may be more to read that no report will announce. */
static bool read_and_answer(struct conn *c)
{
    if (!buffer_reserve(&c->in, READ_BYTES)) {
        conn_close(c, "out of memory");
        return false;
    }
    size_t moved = 0;
    switch (io_read(c->fd, buffer_tail(&c->in), READ_BYTES, &moved)) {
    case IO_OK:
        buffer_fill(&c->in, moved);
        timeouts_traffic(c->timeouts);
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
        drain(c, buffer_len(&c->in) == 0 ? "end of input" : "end of input inside a frame");
        break;
    case IO_ERROR:
        conn_close(c, strerror(errno));
        break;
    }
    advance(c);
    /* A short read has emptied the socket, and bytes that come later are reported. But EOF is not
     * reported again if it was reported with the last bytes. */
    return moved == READ_BYTES || (c->ending && moved > 0);
}

/* Closes the socket and frees everything. */
static void free_conn(struct conn *c)
{
    if (--c->service->stats.connections == 0)
        spare_free();
    LIST_REMOVE(c, others);
    alarms_free(c->alarms);
    timeouts_free(c->timeouts);
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

static events_callback on_ready;

/* Watches the events that the connection waits for now, and no others. */
static void set_interest(struct conn *c)
{
    struct events *events = c->service->events;
    unsigned before = events_interest(events, c->fd);
    unsigned after = interest_of(c);
    for (unsigned event = EVENT_READ; event <= EVENT_WRITE; event <<= 1) {
        if (before & ~after & event)
            events_del(events, c->fd, event);
        if (after & ~before & event && !events_add(events, c->fd, event, on_ready, c))
            conn_close(c, strerror(errno));
    }
}

/* The end of every callback: closes a connection that owes nothing more, gives back memory that is
 * not needed, and sets what to wait for next. The connection may be gone after it. */
static void settle(struct conn *c)
{
    if (c->state == CONN_DRAINING && buffer_len(&c->out) == 0 && !alarms_pending(c->alarms))
        conn_close(c, c->reason);
    buffer_trim(&c->in);
    buffer_trim(&c->out);
    set_interest(c);
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
    if (what & EVENT_HANGUP)
        c->ending = true;
    if (what & EVENT_CANCELLED) {
        conn_close(c, "not watched any more");
    } else if (what & EVENT_WRITE) {
        flush(c);
        answer_owed(c);
        advance(c);
    } else if (read_and_answer(c)) {
        events_again(events, fd, EVENT_READ);
    }
    settle(c);
}

/* An alarm rings until its last reply is made, or its connection is freed. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    if (conn_room(c) == 0) {
        alarms_suspend(alarm);
        return;
    }
    answer_alarm(c, alarm);
    flush(c);
    advance(c); /* if the output is full now, the peer is not waited for any more */
    settle(c);
}

/* No byte has come or gone for long. That is fine if the next to act is this server. */
static void on_idle(struct timer *timer, void *context)
{
    struct conn *c = context;
    (void)timer;
    if (alarms_pending(c->alarms) && buffer_len(&c->out) == 0) {
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
    give_up(c, "frame not complete in time");
    settle(c);
}

/* Gives the connection its alarms and time-outs, if the service has them. False: no memory. */
static bool equip(struct conn *c)
{
    struct service *service = c->service;
    if (service->app == APP_RPC) {
        c->alarms = alarms_new(service->timers, on_alarm, c);
        if (c->alarms == NULL)
            return false;
    }
    if (service->idle_timeout_ms > 0 || service->frame_timeout_ms > 0) {
        c->timeouts = timeouts_new(service->timers, service->idle_timeout_ms,
                                   service->frame_timeout_ms, on_idle, on_frame_timeout, c);
        if (c->timeouts == NULL)
            return false;
    }
    return true;
}

bool conn_open(int fd, struct service *service)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->fd = fd;
    c->state = CONN_OPEN;
    c->service = service;
    if (!equip(c)) {
        alarms_free(c->alarms);
        free(c);
        return false;
    }
    LIST_INSERT_HEAD(&service->conns, c, others);
    service->stats.connections++;
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

#include "server/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/io.h"
#include "net/net.h"
#include "server/answer.h"

/* Input is read up to this much: many small frames, or the beginning of a large one. A frame of 64
 * KiB with its header still fits. */
#define READ_BYTES (72u << 10)

/* Of a large frame, one call reads at most this much. */
#define READ_MAX_BYTES (256u << 10)

/* The output is full once this much is queued: nothing more is read or answered. */
#define HIGH_WATER_BYTES (1u << 20)

size_t conn_room(const struct conn *c)
{
    // BEGIN high_water
    size_t waiting = buffer_len(&c->out);
    return waiting < HIGH_WATER_BYTES ? HIGH_WATER_BYTES - waiting : 0;
    // END high_water
}

static bool wants_input(const struct conn *c)
{
    return c->state == CONN_OPEN && conn_room(c) > 0;
}

void conn_close(struct conn *c, const char *reason)
{
    if (c->state == CONN_CLOSED)
        return;
    log_line("fd %d: closed: %s", c->watch.fd, reason);
    c->state = CONN_CLOSED;
}

/* Takes no more input. The replies owed are still sent. */
static void drain(struct conn *c, const char *reason)
{
    // BEGIN drain
    c->state = CONN_DRAINING;
    c->reason = reason;
    buffer_free(&c->in);
    // END drain
}

/* Drains for a peer that has broken the rules: replies for later are not owed to it. */
static void give_up(struct conn *c, const char *reason)
{
    alarms_free(c->alarms);
    c->alarms = NULL;
    drain(c, reason);
}

/* Sends until the output is empty or the kernel takes no more. */
static void flush(struct conn *c)
{
    while (c->state != CONN_CLOSED && c->writable && buffer_len(&c->out) > 0) {
        size_t moved;
        enum io_result result =
            io_write(c->watch.fd, buffer_head(&c->out), buffer_len(&c->out), &moved);
        switch (result) {
        case IO_OK:
            buffer_consume(&c->out, moved);
            timeouts_traffic(c->timeouts);
            break;
        case IO_AGAIN:
            c->writable = false;
            break;
        default:
            conn_close(c, strerror(errno));
        }
    }
}

/* How much space the input needs for what comes next. A large frame gets all its space at once, and
 * is read to its end and no further: so it fills its block, and goes out without a copy. */
static size_t space_needed(const struct conn *c)
{
    size_t held = buffer_len(&c->in);
    if (held < READ_BYTES)
        return READ_BYTES - held;
    size_t size = frame_size(&c->server->config->framing, buffer_head(&c->in), held);
    return size > held ? size - held : READ_BYTES;
}

/* Reads once. */
static void read_once(struct conn *c)
{
    size_t space = space_needed(c);
    size_t size = space < READ_MAX_BYTES ? space : READ_MAX_BYTES;
    if (!buffer_reserve(&c->in, space)) {
        conn_close(c, "out of memory");
        return;
    }
    size_t moved = 0;
    switch (io_read(c->watch.fd, buffer_tail(&c->in), size, &moved)) {
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
    // BEGIN drained
    /* A short read has emptied the socket, and bytes that come later are reported. But EOF is not
     * reported again if it was reported with the last bytes. */
    c->readable = moved == size || (c->ending && moved > 0);
    // END drained
}

/* Answers complete frames and sends the replies, until the output is full or no complete frame is
 * left. After sending it looks again, since no event will come for frames that have been read
 * already. */
static void advance(struct conn *c)
{
    bool passed = false;
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool bad;
        bool echo = c->server->config->app == APP_ECHO;
        size_t size = echo ? answer_run(c, &bad) : answer_messages(c, &bad);
        if (size == 0 && bad)
            give_up(c, "frame too long");
        if (size == 0)
            break;
        passed = true;
        flush(c);
    }
    bool waits = wants_input(c) && buffer_len(&c->in) > 0;
    timeouts_frame(c->timeouts, waits, passed);
}

/* Makes the reply of an alarm that has rung. */
static void answer_alarm(struct conn *c, struct alarm *alarm)
{
    if (!rpc_ring(&c->server->stats, alarm, &c->out) || !alarms_answered(alarm))
        conn_close(c, "out of memory");
}

/* The alarm whose reply is owed and can be made now, or NULL. */
static struct alarm *next_owed(const struct conn *c)
{
    return c->state != CONN_CLOSED && conn_room(c) > 0 ? alarms_owed(c->alarms) : NULL;
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
    if (wants_input(c))
        interest |= EVENT_READ;
    if (buffer_len(&c->out) > 0)
        interest |= EVENT_WRITE;
    if (!events_set(c->server->events, &c->watch, interest))
        conn_close(c, strerror(errno));
}

/* The end of a turn: closes a connection that owes nothing more, gives back memory that is not
 * needed, and sets what to wait for next. The connection may be gone after it. */
static void settle(struct conn *c)
{
    if (c->state == CONN_DRAINING && buffer_len(&c->out) == 0 && !alarms_pending(c->alarms))
        conn_close(c, c->reason);
    buffer_trim(&c->in);
    buffer_trim(&c->out);
    if (c->state != CONN_CLOSED)
        set_interest(c);
    if (c->state == CONN_CLOSED)
        free_conn(c);
    else if (c->readable && wants_input(c)) /* no event will report this again */
        conn_again(c);
}

// BEGIN turn
/* Everything that is possible without waiting, in one order, whatever the reason for this turn.
 * Sending comes first, since it makes space for replies. It reads once: others want a turn, too. */
static void turn(struct conn *c)
{
    flush(c);
    answer_owed(c);
    advance(c);
    if (c->readable && wants_input(c)) {
        read_once(c);
        advance(c);
    }
    settle(c);
}

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
    if ((what & EVENT_ERROR) && !wants_input(c))
        conn_close(c, strerror(net_error(watch->fd)));
    turn(c);
}
// END turn

/* An alarm rings until its last reply is made, or its connection is freed. The reply is sent in the
 * next turn, together with all others that are due now. */
static void on_alarm(struct alarm *alarm, void *context)
{
    struct conn *c = context;
    if (conn_room(c) == 0 || alarms_owed(c->alarms) != NULL) /* it comes after those */
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
    if (alarms_pending(c->alarms) && buffer_len(&c->out) == 0) {
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

/* Gives the connection its alarms and time-outs, if the server has them. False: no memory. */
static bool equip(struct conn *c)
{
    struct timers *timers = c->server->timers;
    const struct config *config = c->server->config;
    if (config->app == APP_RPC) {
        c->alarms = alarms_new(timers, on_alarm, c);
        if (c->alarms == NULL)
            return false;
    }
    if (config->idle_timeout_ms > 0 || config->frame_timeout_ms > 0) {
        c->timeouts = timeouts_new(timers, config->idle_timeout_ms, config->frame_timeout_ms,
                                   on_idle, on_frame_timeout, c);
        if (c->timeouts == NULL)
            return false;
    }
    return true;
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

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
    size_t waiting = buffer_len(&c->out);
    return waiting < HIGH_WATER_BYTES ? HIGH_WATER_BYTES - waiting : 0;
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
    c->state = CONN_DRAINING;
    c->reason = reason;
    buffer_free(&c->in);
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
    /* TODO 7: Say whether there may be more to read that no report will announce: then the
     * connection stays readable. A short read has emptied the socket, but see EVENT_HANGUP.
     * Graded by test_06_no_read_in_vain. */
    c->readable = moved > 0;
}

/* Answers complete frames and sends the replies, until the output is full or no complete frame is
 * left. After sending it looks again, since no event will come for frames that have been read
 * already. */
static void advance(struct conn *c)
{
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool bad;
        bool echo = c->server->config->app == APP_ECHO;
        size_t size = echo ? answer_run(c, &bad) : answer_messages(c, &bad);
        if (size == 0 && bad)
            drain(c, "frame too long");
        if (size == 0)
            return;
        flush(c);
    }
}

/* Closes the socket and frees everything. */
static void free_conn(struct conn *c)
{
    if (--c->server->stats.connections == 0)
        spare_free();
    LIST_REMOVE(c, others);
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
    if (c->state == CONN_DRAINING && buffer_len(&c->out) == 0)
        conn_close(c, c->reason);
    buffer_trim(&c->in);
    buffer_trim(&c->out);
    if (c->state != CONN_CLOSED)
        set_interest(c);
    if (c->state == CONN_CLOSED)
        free_conn(c);
    else if (c->readable && wants_input(c)) /* no event will report this again */
        events_again(c->server->events, &c->watch);
}

/* TODO 2: Write the callback of a connection and its turn. on_ready() notes what was reported.
 * turn() then does everything that is possible without waiting, in one order, whatever the
 * reason. Graded by test_06_each_edge.
 * The stub reads and answers, and notes nothing: what the kernel does not take at once is never
 * sent. */
static void turn(struct conn *c)
{
    if (wants_input(c))
        read_once(c);
    advance(c);
    settle(c);
}

static void on_ready(struct events *events, struct watch *watch, unsigned what)
{
    (void)events, (void)what;
    turn(watch->context);
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
    if (!events_add(server->events, &c->watch, EVENT_READ)) {
        free(c);
        return false;
    }
    LIST_INSERT_HEAD(&server->conns, c, others);
    server->stats.connections++;
    return true;
}

void conn_close_all(struct server *server)
{
    struct conn *c;
    while ((c = LIST_FIRST(&server->conns)) != NULL) {
        conn_close(c, "server stops");
        free_conn(c);
    }
}

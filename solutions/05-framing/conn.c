#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "io.h"
#include "log.h"

/* Input is read up to this much: many small frames, or the beginning of a large one. A frame of 64
 * KiB with its header still fits. */
#define READ_BYTES (72u << 10)

/* Of a large frame, one call reads at most this much. */
#define READ_MAX_BYTES (256u << 10)

/* The output is full once this much is queued: nothing more is read or answered. */
#define HIGH_WATER_BYTES (1u << 20)

struct conn *conn_new(int fd, struct service *service)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->state = CONN_OPEN;
    c->service = service;
    service->stats.connections++;
    return c;
}

// BEGIN pressure
size_t conn_room(const struct conn *c)
{
    size_t waiting = buffer_len(&c->out);
    return waiting < HIGH_WATER_BYTES ? HIGH_WATER_BYTES - waiting : 0;
}

unsigned conn_interest(const struct conn *c)
{
    unsigned interest = 0;
    /* Back-pressure: a client that does not take its replies is not read from. */
    if (c->state == CONN_OPEN && conn_room(c) > 0)
        interest |= CONN_WANT_READ;
    if (c->state != CONN_CLOSED && buffer_len(&c->out) > 0)
        interest |= CONN_WANT_WRITE;
    return interest;
}
// END pressure

// BEGIN drain
/* Takes no more input. The replies owed are still sent. */
static void drain(struct conn *c, const char *reason)
{
    c->state = CONN_DRAINING;
    c->reason = reason;
    buffer_free(&c->in);
}

/* After each event: closes a draining connection that owes nothing more, and gives memory back. */
static void settle(struct conn *c)
{
    if (c->state == CONN_DRAINING && buffer_len(&c->out) == 0)
        conn_close(c, c->reason);
    buffer_trim(&c->in);
    buffer_trim(&c->out);
}
// END drain

// BEGIN advance
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
        else
            buffer_consume(&c->out, moved);
    }
}

/* Answers complete frames and sends the replies, until the output is full or no complete frame is
 * left. It does not wait until the socket is reported writable: it nearly always is. After sending
 * it looks again, since no event will come for frames that have been read already. */
static void advance(struct conn *c)
{
    while (c->state == CONN_OPEN && buffer_len(&c->in) > 0) {
        bool bad;
        bool echo = c->service->app == APP_ECHO;
        size_t size = echo ? answer_run(c, &bad) : answer_messages(c, &bad);
        if (size == 0 && bad)
            drain(c, "frame too long");
        if (size == 0)
            return;
        flush(c);
    }
}
// END advance

/* How much space the input needs for what comes next. A large frame gets all its space at once, and
 * is read to its end and no further: so it fills its block, and goes out without a copy. */
static size_t space_needed(const struct conn *c)
{
    size_t held = buffer_len(&c->in);
    if (held < READ_BYTES)
        return READ_BYTES - held;
    size_t size = frame_size(&c->service->framing, buffer_head(&c->in), held);
    return size > held ? size - held : READ_BYTES;
}

void conn_read(struct conn *c)
{
    if (!(conn_interest(c) & CONN_WANT_READ))
        return;
    size_t space = space_needed(c);
    size_t size = space < READ_MAX_BYTES ? space : READ_MAX_BYTES;
    if (!buffer_reserve(&c->in, space)) {
        conn_close(c, "out of memory");
        return;
    }
    size_t moved;
    switch (io_read(c->fd, buffer_tail(&c->in), size, &moved)) {
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
    advance(c);
    settle(c);
}

void conn_write(struct conn *c)
{
    if (!(conn_interest(c) & CONN_WANT_WRITE))
        return;
    flush(c);
    advance(c);
    settle(c);
}

void conn_close(struct conn *c, const char *reason)
{
    log_line("fd %d: closed: %s", c->fd, reason);
    c->state = CONN_CLOSED;
}

void conn_free(struct conn *c)
{
    if (--c->service->stats.connections == 0)
        spare_free();
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

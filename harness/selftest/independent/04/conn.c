#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "io.h"
#include "log.h"
#include "spare.h"

/* Read with one call: many small frames, or a good part of a large one. */
#define READ_BYTES (256u << 10)

/* The output is full once this much is queued: nothing more is read or answered. */
#define HIGH_WATER_BYTES (1u << 20)

static size_t connections; /* open now */

struct conn *conn_new(int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->state = CONN_OPEN;
    connections++;
    return c;
}

/* How many bytes of replies may be added until the output is full. */
static size_t room(const struct conn *c)
{
    size_t used = buffer_len(&c->out);
    if (used > HIGH_WATER_BYTES)
        used = HIGH_WATER_BYTES;
    return HIGH_WATER_BYTES - used;
}

unsigned conn_interest(const struct conn *c)
{
    bool sends = buffer_len(&c->out) != 0;
    switch (c->state) {
    case CONN_CLOSED:
        return 0;
    case CONN_DRAINING:
        return sends ? CONN_WANT_WRITE : 0;
    default:
        return (room(c) ? CONN_WANT_READ : 0) | (sends ? CONN_WANT_WRITE : 0);
    }
}

/* Only an open connection starts to drain: the first reason is the one that is logged. */
static void drain(struct conn *c, const char *reason)
{
    if (c->state != CONN_OPEN)
        return;
    c->reason = reason;
    buffer_consume(&c->in, buffer_len(&c->in));
    buffer_trim(&c->in);
    c->state = CONN_DRAINING;
}

static void settle(struct conn *c)
{
    struct buffer *both[] = {&c->in, &c->out};
    for (int i = 0; i < 2; i++)
        buffer_trim(both[i]);
    bool done = !buffer_len(&c->out);
    if (done && c->state == CONN_DRAINING)
        conn_close(c, c->reason);
}

/* Logs each frame in the first `size` bytes of the input. */
static void log_frames(const struct conn *c, size_t size)
{
    uint32_t length;
    for (size_t at = 0; at < size; at += FRAME_HEADER_BYTES + (size_t)length) {
        frame_length(buffer_head(&c->in) + at, &length);
        log_frame(c->fd, length);
    }
}

/* Answers the frames in the first `size` bytes of the input. The reply to a frame is the frame, so
 * the replies are there already, one after the other. */
static void answer(struct conn *c, size_t size)
{
    if (log_is_verbose())
        log_frames(c, size);
    if (!buffer_move(&c->out, &c->in, size))
        conn_close(c, "out of memory");
}

static void flush(struct conn *c)
{
    enum io_result last = IO_OK;
    do {
        size_t sent = 0, owed = buffer_len(&c->out);
        if (owed == 0 || c->state == CONN_CLOSED)
            return;
        last = io_write(c->fd, buffer_head(&c->out), owed, &sent);
        if (last == IO_OK)
            buffer_consume(&c->out, sent);
    } while (last == IO_OK);
    if (last == IO_ERROR)
        conn_close(c, strerror(errno));
}

/* Answers what fits into the output. False: nothing could be answered. */
static bool some_answered(struct conn *c)
{
    bool bad = false;
    size_t ready, have = buffer_len(&c->in);
    if (c->state != CONN_OPEN || have < FRAME_HEADER_BYTES)
        return false;
    ready = frame_run(buffer_head(&c->in), have, room(c), &bad);
    if (ready)
        answer(c, ready);
    else if (bad)
        drain(c, "frame too long");
    return ready != 0;
}

static void advance(struct conn *c)
{
    while (some_answered(c))
        flush(c);
}

void conn_read(struct conn *c)
{
    if (!(conn_interest(c) & CONN_WANT_READ))
        return;
    if (!buffer_reserve(&c->in, READ_BYTES)) {
        conn_close(c, "out of memory");
        return;
    }
    size_t moved;
    switch (io_read(c->fd, buffer_tail(&c->in), READ_BYTES, &moved)) {
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
    if (--connections == 0)
        spare_free();
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "io.h"
#include "log.h"

/* Input is read up to this much: many small frames, or the beginning of a large one. A frame of 64
 * KiB with its header still fits. */
#define READ_BYTES (72u << 10)

/* Of a large frame, one call reads at most this much. */
#define READ_MAX_BYTES (256u << 10)

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
/* TODO 4: Bound the output: say how many bytes of replies it may still take until it holds
 * HIGH_WATER_BYTES, and ask for input only while it may take some. Graded by
 * test_04_client_that_never_reads_costs_little_memory.
 * `out` may hold more than HIGH_WATER_BYTES, since a reply is never cut. */
static size_t room(const struct conn *c)
{
    (void)c;
    return SIZE_MAX;
}

unsigned conn_interest(const struct conn *c)
{
    unsigned interest = 0;
    if (c->state == CONN_OPEN)
        interest |= CONN_WANT_READ;
    if (c->state != CONN_CLOSED && buffer_len(&c->out) > 0)
        interest |= CONN_WANT_WRITE;
    return interest;
}

/* TODO 5: Send the replies owed before closing: drain() ends the input, and settle(), called
 * after each event, closes a connection that is draining and owes nothing more. Graded by
 * test_04_half_close_with_a_late_reader.
 * CONN_DRAINING and `reason` are for this. The rest of the input is not needed any more. */
static void drain(struct conn *c, const char *reason)
{
    conn_close(c, reason);
}

static void settle(struct conn *c)
{
    buffer_trim(&c->in);
    buffer_trim(&c->out);
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

/* TODO 2: Answer the complete frames in the input and send the replies at once, until the output
 * is full or the input holds no complete frame. Graded by test_04_hundred_thousand_frames.
 * Write both functions. An error of io_write() closes the connection; a frame that is too long
 * ends its input: drain(). Sending can make space for more replies. */
static void flush(struct conn *c)
{
    size_t moved;
    if (buffer_len(&c->out) > 0 &&
        io_write(c->fd, buffer_head(&c->out), buffer_len(&c->out), &moved) == IO_OK)
        buffer_consume(&c->out, moved);
}

static void advance(struct conn *c)
{
    bool too_long;
    size_t size = frame_run(buffer_head(&c->in), buffer_len(&c->in), room(c), &too_long);
    if (size > 0)
        answer(c, size);
    else if (too_long)
        drain(c, "frame too long");
    flush(c);
}

/* How much space the input needs for what comes next. A large frame gets all its space at once, and
 * is read to its end and no further: so it fills its block, and goes out without a copy. */
static size_t space_needed(const struct conn *c)
{
    size_t held = buffer_len(&c->in);
    if (held < READ_BYTES)
        return READ_BYTES - held;
    size_t size = frame_size(buffer_head(&c->in), held);
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
    if (--connections == 0)
        spare_free();
    close(c->fd);
    buffer_free(&c->in);
    buffer_free(&c->out);
    free(c);
}

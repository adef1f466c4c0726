#include "conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"
#include "io.h"
#include "log.h"

/* The limit of one read(). It bounds how long one client can keep the others waiting. */
#define READ_BYTES_MAX (256u << 10)

struct conn *conn_new(int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->fd = fd;
    c->state = CONN_READING;
    return c;
}

/* Sets *missing to the number of bytes that the frame being read still lacks: first of its header,
 * then of its body. 0: it is complete. False: it is too long. */
static bool missing_bytes(const struct conn *c, size_t *missing)
{
    size_t whole = FRAME_HEADER_BYTES;
    if (c->frame.len >= FRAME_HEADER_BYTES) {
        uint32_t length;
        if (!frame_length(c->frame.data, &length))
            return false;
        whole += length;
    }
    *missing = whole - c->frame.len;
    return true;
}

/* Starts the reply once the frame is complete. */
static void check_frame(struct conn *c)
{
    size_t missing;
    if (!missing_bytes(c, &missing)) {
        conn_close(c, "frame too long");
    } else if (missing == 0) {
        log_frame(c->fd, (unsigned)(c->frame.len - FRAME_HEADER_BYTES));
        c->state = CONN_WRITING;
        c->sent = 0;
    }
}

unsigned conn_interest(const struct conn *c)
{
    /* TODO 1: Return what the connection waits for in its state, and nothing else. Graded by
     * test_03_waits_only_for_what_it_needs. */
    return c->state == CONN_CLOSED ? 0 : CONN_WANT_READ | CONN_WANT_WRITE;
}

/* Asks for no byte after the end of the frame. */
void conn_read(struct conn *c)
{
    if (c->state != CONN_READING)
        return;
    size_t size = 0;
    missing_bytes(c, &size);
    if (size > READ_BYTES_MAX)
        size = READ_BYTES_MAX;
    if (!buffer_reserve(&c->frame, size)) {
        conn_close(c, "out of memory");
        return;
    }
    size_t moved;
    switch (io_read(c->fd, buffer_tail(&c->frame), size, &moved)) {
    case IO_OK:
        buffer_fill(&c->frame, moved);
        check_frame(c);
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
        conn_close(c, c->frame.len == 0 ? "end of input" : "end of input inside a frame");
        break;
    case IO_ERROR:
        conn_close(c, strerror(errno));
        break;
    }
}

/* Bytes that the kernel does not take now wait until the socket is writable again. */
void conn_write(struct conn *c)
{
    if (c->state != CONN_WRITING)
        return;
    size_t moved;
    switch (io_write(c->fd, c->frame.data + c->sent, c->frame.len - c->sent, &moved)) {
    case IO_OK:
        c->sent += moved;
        if (c->sent == c->frame.len) {
            buffer_clear(&c->frame);
            c->state = CONN_READING;
        }
        break;
    case IO_AGAIN:
        break;
    case IO_EOF:
    case IO_ERROR:
        conn_close(c, strerror(errno));
        break;
    }
}

void conn_close(struct conn *c, const char *reason)
{
    log_line("fd %d: closed: %s", c->fd, reason);
    c->state = CONN_CLOSED;
}

void conn_free(struct conn *c)
{
    close(c->fd);
    buffer_free(&c->frame);
    free(c);
}

/*
 * The echo server on libuv: reads into a buffer that all connections share, tries to write at once,
 * and hands what the kernel does not take to uv_write(), which owns it until it is sent.
 *
 *     cc -std=gnu11 -O2 -o echo_uv echo_uv.c -luv
 */
#include "peers.h"

#include <uv.h>

struct conn {
    uv_tcp_t tcp;      /* the first member: a pointer to it is one to the connection */
    bool draining;     /* takes no more input, and is closed when nothing is queued */
    bool throttled;    /* reads nothing until less is queued */
    struct buffer own; /* the beginning of a frame */
};

/* Replies that wait, and their memory. */
struct reply {
    uv_write_t request; /* the first member, too */
    struct buffer buffer;
};

static uint8_t read_buffer[READ_BYTES];

static void check(const char *what, int status)
{
    if (status < 0)
        die(what, uv_strerror(status));
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = (struct conn *)handle;
    buffer_free(&c->own);
    free(c);
}

static void conn_close(struct conn *c)
{
    if (!uv_is_closing((uv_handle_t *)c))
        uv_close((uv_handle_t *)c, on_closed);
}

static size_t queued(const struct conn *c)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct conn *c = (struct conn *)handle;
    (void)suggested;
    if (c->own.data == NULL)
        *buf = uv_buf_init((char *)read_buffer, READ_BYTES);
    else if (buffer_reserve(&c->own))
        *buf = uv_buf_init((char *)c->own.data + c->own.end, READ_BYTES);
    else
        *buf = uv_buf_init(NULL, 0); /* on_read() gets UV_ENOBUFS */
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

/* Back-pressure: reads nothing while more is queued than the high-water mark. */
static bool set_interest(struct conn *c)
{
    bool throttled = queued(c) > HIGH_WATER_BYTES;
    if (throttled == c->throttled)
        return true;
    c->throttled = throttled;
    if (throttled)
        return uv_read_stop((uv_stream_t *)c) == 0;
    return uv_read_start((uv_stream_t *)c, on_alloc, on_read) == 0;
}

/* The end of an iteration. */
static void settle(struct conn *c, bool well)
{
    if (!well || (c->draining ? queued(c) == 0 : !set_interest(c)))
        conn_close(c);
}

static void on_written(uv_write_t *request, int status)
{
    struct reply *reply = (struct reply *)request;
    struct conn *c = (struct conn *)request->handle;
    buffer_free(&reply->buffer);
    free(reply);
    settle(c, status == 0);
}

/* Queues what is owed in `replies`, whose memory is the request's from now on. */
static bool enqueue(struct conn *c, struct buffer replies)
{
    uv_buf_t owed =
        uv_buf_init((char *)replies.data + replies.start, (unsigned)buffer_owed(&replies));
    struct reply *reply = malloc(sizeof *reply);
    if (reply != NULL) {
        reply->buffer = replies;
        if (uv_write(&reply->request, (uv_stream_t *)c, &owed, 1, on_written) == 0)
            return true;
    }
    free(reply);
    buffer_free(&replies);
    return false;
}

/* What is left over in `b` after the first try to write: replies go into the queue, the beginning
 * of a frame stays with the connection. */
static bool keep_rest(struct conn *c, struct buffer *b)
{
    struct buffer begun = *b, replies = *b, next = {0};
    if (buffer_owed(b) == 0 && b == &c->own) {
        buffer_trim(b);
        return true;
    }
    begun.start = replies.end = b->whole;
    if (!buffer_copy(&next, &begun))
        return false;
    if (b != &c->own && !buffer_copy(&replies, &replies)) {
        buffer_free(&next);
        return false;
    }
    c->own = next;
    return buffer_owed(&replies) == 0 || enqueue(c, replies);
}

/* Echoes the frames that are complete in `b`. */
static bool echo(struct conn *c, struct buffer *b)
{
    c->draining = !buffer_find_frames(b);
    if (c->draining)
        uv_read_stop((uv_stream_t *)c);
    if (buffer_owed(b) > 0) {
        uv_buf_t owed = uv_buf_init((char *)b->data + b->start, (unsigned)buffer_owed(b));
        int n = uv_try_write((uv_stream_t *)c, &owed, 1);
        if (n < 0 && n != UV_EAGAIN)
            return false;
        b->start += n > 0 ? (size_t)n : 0;
    }
    return keep_rest(c, b);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = (struct conn *)stream;
    struct buffer shared = {.data = read_buffer, .cap = READ_BYTES};
    struct buffer *b = buf->base == (char *)read_buffer ? &shared : &c->own;
    bool well = n >= 0 || n == UV_EOF;
    if (n > 0) {
        b->end += (size_t)n;
        well = echo(c, b);
    } else if (n == UV_EOF) {
        c->draining = true;
        uv_read_stop(stream);
    }
    settle(c, well);
}

static void on_client(uv_stream_t *listener, int status)
{
    if (status < 0) /* out of descriptors: libuv has closed the waiting ones */
        return;
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        return;
    uv_tcp_init(listener->loop, &c->tcp);
    if (uv_accept(listener, (uv_stream_t *)c) < 0 ||
        uv_read_start((uv_stream_t *)c, on_alloc, on_read) < 0)
        conn_close(c);
    else
        uv_tcp_nodelay(&c->tcp, 1);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = start(argc, argv);
    uv_loop_t *loop = uv_default_loop();
    uv_tcp_t listener;
    uv_os_fd_t fd;
    check("uv_tcp_init", uv_tcp_init(loop, &listener));
    check("uv_tcp_bind", uv_tcp_bind(&listener, (struct sockaddr *)&address, 0));
    check("uv_listen", uv_listen((uv_stream_t *)&listener, BACKLOG, on_client));
    check("uv_fileno", uv_fileno((uv_handle_t *)&listener, &fd));
    announce(fd);
    return uv_run(loop, UV_RUN_DEFAULT);
}

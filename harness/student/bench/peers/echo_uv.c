/* The echo server on libuv: reads into a buffer that all connections share, and tries to write at
 * once. What the kernel does not take goes to uv_write(), and nothing is read until it is sent. */
#include "peers.h"

#include <uv.h>

struct conn {
    uv_tcp_t tcp;       /* the first member: a pointer to it is one to the connection */
    uv_write_t request; /* of the replies that wait, which are in `own` */
    struct buffer own;
};

static void check(const char *what, int status)
{
    if (status < 0)
        die(what, uv_strerror(status));
}

static void on_closed(uv_handle_t *handle)
{
    struct conn *c = (struct conn *)handle;
    free(c->own.data);
    free(c);
}

static void conn_close(struct conn *c)
{
    if (!uv_is_closing((uv_handle_t *)c))
        uv_close((uv_handle_t *)c, on_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct buffer *b = for_input(&((struct conn *)handle)->own);
    (void)suggested;
    *buf = uv_buf_init((char *)b->data + b->end, READ_BYTES);
}

static uv_buf_t replies(const struct buffer *b)
{
    return uv_buf_init((char *)b->data + b->start, (unsigned)owed(b));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void on_written(uv_write_t *request, int status)
{
    struct conn *c = (struct conn *)request->handle;
    c->own.start = c->own.whole;
    keep(&c->own, &c->own);
    if (status < 0 || uv_read_start(request->handle, on_alloc, on_read) < 0)
        conn_close(c);
}

/* Echoes the frames that are complete in `b`. False: the connection is broken. */
static bool echo(struct conn *c, struct buffer *b)
{
    uv_stream_t *stream = (uv_stream_t *)c;
    if (!find_frames(b))
        return false;
    uv_buf_t buf = replies(b);
    int n = buf.len > 0 ? uv_try_write(stream, &buf, 1) : 0;
    if (n < 0 && n != UV_EAGAIN)
        return false;
    b->start += n > 0 ? (size_t)n : 0;
    keep(&c->own, b);
    if (owed(&c->own) == 0)
        return true;
    uv_read_stop(stream);
    buf = replies(&c->own);
    return uv_write(&c->request, stream, &buf, 1, on_written) == 0;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *c = (struct conn *)stream;
    struct buffer *b = buf->base == (char *)read_bytes ? &shared : &c->own;
    b->end += n > 0 ? (size_t)n : 0;
    if (n < 0 || (n > 0 && !echo(c, b)))
        conn_close(c);
}

static void on_client(uv_stream_t *listener, int status)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL)
        die("calloc", strerror(errno));
    check("connection", status);
    check("uv_tcp_init", uv_tcp_init(listener->loop, &c->tcp));
    check("uv_accept", uv_accept(listener, (uv_stream_t *)c));
    check("uv_read_start", uv_read_start((uv_stream_t *)c, on_alloc, on_read));
    uv_tcp_nodelay(&c->tcp, 1);
}

int main(int argc, char **argv)
{
    uv_tcp_t listener;
    int fd = start(argc, argv);
    check("uv_tcp_init", uv_tcp_init(uv_default_loop(), &listener));
    check("uv_tcp_open", uv_tcp_open(&listener, fd));
    check("uv_listen", uv_listen((uv_stream_t *)&listener, BACKLOG, on_client));
    return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* The echo server on libevent: a bufferevent for each connection, which reads into an evbuffer. All
 * complete frames move to another one, their memory with them, and are written from there at once;
 * what the kernel does not take moves on to the bufferevent's output.
 *
 * libevent 2.1 reads at most 4096 bytes at a time into an evbuffer, whatever it is told. */
#include "peers.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

static struct evbuffer *replies; /* of one callback; empty between two */

/* Finds the frames that `input` begins with. Returns their size, and that of the next, which is not
 * complete, in *needed. */
static size_t frames_in(struct evbuffer *input, size_t *needed)
{
    size_t size = evbuffer_get_length(input), whole = 0;
    struct evbuffer_ptr at;
    evbuffer_ptr_set(input, &at, 0, EVBUFFER_PTR_SET);
    for (;;) {
        uint8_t header[HEADER_BYTES];
        *needed = HEADER_BYTES;
        if (size - whole < *needed)
            return whole;
        evbuffer_copyout_from(input, &at, header, sizeof header);
        *needed += frame_length(header);
        if (size - whole < *needed)
            return whole;
        evbuffer_ptr_set(input, &at, *needed, EVBUFFER_PTR_ADD);
        whole += *needed;
    }
}

/* Sends the first `size` bytes of the input. Nothing waits to be sent. */
static bool echo(struct bufferevent *bev, size_t size)
{
    evbuffer_remove_buffer(bufferevent_get_input(bev), replies, size);
    if (evbuffer_write(replies, bufferevent_getfd(bev)) < 0 && !passes(errno))
        return false;
    if (evbuffer_get_length(replies) > 0) {
        bufferevent_write_buffer(bev, replies);
        bufferevent_disable(bev, EV_READ); /* until it is sent */
    }
    return true;
}

static void on_read(struct bufferevent *bev, void *arg)
{
    size_t needed, whole = frames_in(bufferevent_get_input(bev), &needed);
    (void)arg;
    if (needed > HEADER_BYTES + (size_t)MAX_FRAME_BYTES || (whole > 0 && !echo(bev, whole)))
        bufferevent_free(bev);
    else
        bufferevent_setwatermark(bev, EV_READ, needed, 0); /* before that it is not looked at */
}

static void on_written(struct bufferevent *bev, void *arg)
{
    (void)arg;
    bufferevent_enable(bev, EV_READ);
}

static void on_end(struct bufferevent *bev, short what, void *arg)
{
    (void)what, (void)arg;
    evbuffer_drain(replies, evbuffer_get_length(replies));
    bufferevent_free(bev);
}

static void on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *arg)
{
    int on = 1;
    struct bufferevent *bev =
        bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
    (void)address, (void)size, (void)arg;
    if (bev == NULL)
        die("libevent", "cannot serve a client");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bufferevent_setcb(bev, on_read, on_written, on_end, NULL);
    bufferevent_set_max_single_read(bev, READ_BYTES);
    bufferevent_enable(bev, EV_READ);
}

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    (void)listener, (void)arg;
    die("accept", strerror(errno));
}

int main(int argc, char **argv)
{
    int fd = start(argc, argv);
    struct event_base *base = event_base_new();
    struct evconnlistener *listener =
        base ? evconnlistener_new(base, on_client, NULL, LEV_OPT_CLOSE_ON_EXEC, 0, fd) : NULL;
    replies = evbuffer_new();
    if (listener == NULL || replies == NULL)
        die("libevent", "cannot start");
    evconnlistener_set_error_cb(listener, on_accept_error);
    return event_base_dispatch(base) < 0;
}

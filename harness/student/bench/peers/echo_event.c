/*
 * The echo server on libevent: a bufferevent for each connection, which reads into an evbuffer. All
 * complete frames move to another one, their memory with them, and are written from there at once;
 * what the kernel does not take moves on to the bufferevent's output.
 *
 * libevent 2.1 reads at most 4096 bytes at a time into an evbuffer, whatever it is told.
 *
 *     cc -std=gnu11 -O2 -o echo_event echo_event.c -levent_core
 */
#include "peers.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

struct conn {
    struct bufferevent *bev;
    size_t needed; /* bytes of input for the next frame; before that it is not looked at */
    bool draining; /* takes no more input, and is closed when nothing is owed */
};

static struct evbuffer *replies; /* of one iteration; empty between two */
static struct event *pause_end;

static void conn_close(struct conn *c)
{
    bufferevent_free(c->bev);
    free(c);
}

static size_t queued(const struct conn *c)
{
    return evbuffer_get_length(bufferevent_get_output(c->bev));
}

/* Finds the frames that `input` begins with. Returns their size, and that of the next, which is not
 * complete, in *needed: 0 when it is too long. It looks at the bytes where they are, and copies
 * only a header that lies in two pieces of memory. */
static size_t find_frames(struct evbuffer *input, size_t *needed)
{
    size_t size = evbuffer_get_length(input), whole = 0, base = 0;
    struct evbuffer_iovec piece = {0}; /* the memory from `base` on */
    struct evbuffer_ptr at;
    evbuffer_ptr_set(input, &at, 0, EVBUFFER_PTR_SET);
    for (*needed = HEADER_BYTES; size - whole >= *needed;) {
        uint8_t copy[HEADER_BYTES], *header = copy;
        if (whole - base + HEADER_BYTES > piece.iov_len) {
            evbuffer_ptr_set(input, &at, whole - base, EVBUFFER_PTR_ADD);
            evbuffer_peek(input, -1, &at, &piece, 1);
            evbuffer_copyout_from(input, &at, copy, sizeof copy);
            base = whole;
        } else {
            header = (uint8_t *)piece.iov_base + (whole - base);
        }
        uint32_t length = frame_length(header);
        *needed = length > MAX_FRAME_BYTES ? 0 : HEADER_BYTES + (size_t)length;
        if (*needed == 0 || size - whole < *needed)
            break;
        whole += *needed;
        *needed = HEADER_BYTES;
    }
    return whole;
}

/* Sends the first `size` bytes of the input: at once, unless others wait. */
static bool echo(struct conn *c, size_t size)
{
    struct evbuffer *input = bufferevent_get_input(c->bev);
    if (queued(c) > 0)
        return evbuffer_remove_buffer(input, bufferevent_get_output(c->bev), size) >= 0;
    if (evbuffer_remove_buffer(input, replies, size) < 0)
        return false;
    bool well = evbuffer_write(replies, bufferevent_getfd(c->bev)) >= 0 || passes(errno);
    if (well && evbuffer_get_length(replies) > 0)
        well = bufferevent_write_buffer(c->bev, replies) == 0;
    evbuffer_drain(replies, evbuffer_get_length(replies));
    return well;
}

/* The end of an iteration. Back-pressure: reads nothing while the output is above high-water. */
static void settle(struct conn *c)
{
    bool full = queued(c) > HIGH_WATER_BYTES;
    bool reads = bufferevent_get_enabled(c->bev) & EV_READ;
    if (c->draining && queued(c) == 0)
        conn_close(c);
    else if (reads && (full || c->draining))
        bufferevent_disable(c->bev, EV_READ);
    else if (!reads && !full && !c->draining)
        bufferevent_enable(c->bev, EV_READ);
}

static void on_read(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;
    size_t needed, whole = find_frames(bufferevent_get_input(bev), &needed);
    if (whole > 0 && !echo(c, whole)) {
        conn_close(c);
        return;
    }
    c->draining = needed == 0;
    if (needed != c->needed)
        bufferevent_setwatermark(bev, EV_READ, needed, 0);
    c->needed = needed;
    settle(c);
}

/* Less is queued than the high-water mark; perhaps nothing. */
static void on_written(struct bufferevent *bev, void *arg)
{
    (void)bev;
    settle(arg);
}

static void on_end(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;
    (void)bev;
    if (what & BEV_EVENT_EOF) {
        c->draining = true;
        settle(c);
    } else {
        conn_close(c);
    }
}

static void on_client(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
                      int size, void *arg)
{
    int on = 1;
    struct conn *c = calloc(1, sizeof *c);
    struct bufferevent *bev =
        bufferevent_socket_new(evconnlistener_get_base(listener), fd, BEV_OPT_CLOSE_ON_FREE);
    (void)address, (void)size, (void)arg;
    if (c == NULL || bev == NULL) {
        if (bev != NULL)
            bufferevent_free(bev);
        else
            evutil_closesocket(fd);
        free(c);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->bev = bev;
    bufferevent_setcb(bev, on_read, on_written, on_end, c);
    bufferevent_setwatermark(bev, EV_WRITE, HIGH_WATER_BYTES, 0);
    bufferevent_set_max_single_read(bev, READ_BYTES);
    bufferevent_set_max_single_write(bev, HIGH_WATER_BYTES);
    if (bufferevent_enable(bev, EV_READ) < 0)
        conn_close(c);
}

/* Without a descriptor for the next client the listener would stay readable: so it pauses. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct timeval pause = {.tv_usec = PAUSE_MS * 1000};
    (void)arg;
    evconnlistener_disable(listener);
    event_add(pause_end, &pause);
}

static void on_pause_end(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    evconnlistener_enable(arg);
}

int main(int argc, char **argv)
{
    int fd = listen_on(start(argc, argv));
    struct event_base *base = event_base_new();
    struct evconnlistener *listener =
        base ? evconnlistener_new(base, on_client, NULL, LEV_OPT_CLOSE_ON_EXEC, 0, fd) : NULL;
    replies = evbuffer_new();
    if (listener == NULL || replies == NULL)
        die("libevent", "cannot start");
    pause_end = evtimer_new(base, on_pause_end, listener);
    if (pause_end == NULL)
        die("libevent", "cannot start");
    evconnlistener_set_error_cb(listener, on_accept_error);
    announce(fd);
    return event_base_dispatch(base) < 0;
}

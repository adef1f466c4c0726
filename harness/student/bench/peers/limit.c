/*
 * The upper bound: echoes bytes as they come, and looks at none of them. No library.
 *
 * epoll, edge-triggered: a socket is registered once, and a short read or write shows that there is
 * no more to do. One read() and one write() straight from the read buffer; a connection owns memory
 * only while a part of that write waits.
 *
 *     cc -std=gnu11 -O2 -o limit limit.c
 *     cc -std=gnu11 -O2 -DWAIT_MS=0 -o spin limit.c     never sleeps: for a core of its own
 */
#include "peers.h"

#include <sys/epoll.h>

#ifndef WAIT_MS
#define WAIT_MS -1
#endif

enum { EVENTS = 256 };

struct conn {
    int fd;
    bool hung_up;    /* an end or an error is there, perhaps behind bytes */
    bool ended;      /* and it was read */
    uint8_t *unsent; /* the rest of a write, or NULL */
    size_t start, end;
};

static uint8_t read_buffer[READ_BYTES];
static int epoll;

static void conn_close(struct conn *c)
{
    close(c->fd);
    free(c->unsent);
    free(c);
}

/* Writes the rest. False: the connection is broken. */
static bool flush(struct conn *c)
{
    while (c->start < c->end) {
        ssize_t n = write(c->fd, c->unsent + c->start, c->end - c->start);
        if (n < 0)
            return passes(errno);
        c->start += (size_t)n;
    }
    free(c->unsent);
    c->unsent = NULL;
    return true;
}

/* Keeps `size` bytes that were not written. */
static bool keep(struct conn *c, const uint8_t *bytes, size_t size)
{
    c->unsent = malloc(size);
    if (c->unsent == NULL)
        return false;
    memcpy(c->unsent, bytes, size);
    c->start = 0;
    c->end = size;
    return true;
}

/* Sends what was read. */
static bool send_back(struct conn *c, size_t size)
{
    ssize_t n = write(c->fd, read_buffer, size);
    if (n < 0 && !passes(errno))
        return false;
    size_t sent = n < 0 ? 0 : (size_t)n;
    return sent == size || keep(c, read_buffer + sent, size - sent);
}

/* Reads and writes until there is no more, or the remainder of a write waits. A short read shows
 * that there is no more, except for a FIN right after it. */
static bool echo(struct conn *c)
{
    ssize_t n = READ_BYTES;
    while ((n == READ_BYTES || c->hung_up) && c->unsent == NULL && !c->ended) {
        n = read(c->fd, read_buffer, READ_BYTES);
        if (n < 0)
            return passes(errno);
        c->ended = n == 0;
        if (n > 0 && !send_back(c, (size_t)n))
            return false;
    }
    return true;
}

static void on_ready(struct conn *c, uint32_t ready)
{
    if (ready & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        c->hung_up = true;
    bool well = (c->unsent == NULL || flush(c)) && echo(c);
    if (!well || (c->ended && c->unsent == NULL))
        conn_close(c);
}

static void watch(int fd, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events | EPOLLET, .data.ptr = data};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        die("epoll_ctl", strerror(errno));
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept_next(listener)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        if (c == NULL)
            die("accept", strerror(errno));
        c->fd = fd;
        watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP, c);
    }
}

int main(int argc, char **argv)
{
    static struct epoll_event events[EVENTS];
    int listener = listen_on(start(argc, argv));
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        die("epoll_create1", strerror(errno));
    watch(listener, EPOLLIN, NULL);
    announce(listener);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, WAIT_MS);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(listener);
            else
                on_ready(events[i].data.ptr, events[i].events);
        }
    }
}

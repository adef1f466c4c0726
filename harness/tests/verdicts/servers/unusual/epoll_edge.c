/*
 * Unusual: epoll, edge-triggered, each socket registered once and for everything. epoll_edge PORT
 *
 * An edge is reported once, so what is ready is remembered until a call shows that it is not. A
 * short read or write shows that as well as EAGAIN does (epoll(7), question 9), and saves a call.
 * Right, since EOF, which may come right after a short read, has an edge of its own (EPOLLRDHUP),
 * and since a connection reads once per iteration: those with more to do are in a queue, and
 * meanwhile the loop does not sleep.
 */
#include "echo.h"

#include <sys/epoll.h>

enum { EVENTS = 64 };

#define ENDS (EPOLLRDHUP | EPOLLHUP | EPOLLERR)

static int epoll;
static struct conn *queue; /* those that can do something, without an event */

static void watch(int fd, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events, .data.ptr = data};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("epoll_ctl");
}

static bool can_move(const struct conn *c)
{
    return c->ready & (owes(c) ? EPOLLOUT | EPOLLHUP | EPOLLERR : EPOLLIN | ENDS);
}

/* What happened shows: `n` of `size` bytes were moved. After a short read there can be EOF. */
static bool moved(struct conn *c, ssize_t n, size_t size, uint32_t direction)
{
    if (n < 0 ? errno != EINTR : (size_t)n < size && !(c->ready & ENDS))
        c->ready &= ~direction;
    return is_well(n);
}

/* Reads once, and sends. False: the connection is over. */
static bool turn(struct conn *c)
{
    bool well = true;
    if (!owes(c) && can_move(c))
        well = moved(c, conn_read(c), CHUNK_BYTES, EPOLLIN);
    while (well && owes(c) && can_move(c)) {
        size_t size = c->whole - c->start;
        well = moved(c, conn_write(c), size, EPOLLOUT);
    }
    finish_turn(c);
    return well && !(c->ending && !owes(c));
}

static void enqueue(struct conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->next = queue;
    queue = c;
}

/* Serves every connection in the queue; those that are not finished are queued again. */
static void run_queue(void)
{
    struct conn *next, *c = queue;
    for (queue = NULL; c; c = next) {
        next = c->next;
        c->queued = false;
        if (!turn(c))
            conn_close(c);
        else if (can_move(c))
            enqueue(c);
    }
}

/* False: no descriptor was left for somebody. */
static bool accept_waiting(int listener)
{
    struct conn *c;
    int fd;
    while ((fd = accept_next(listener, SOCK_NONBLOCK)) >= 0)
        if ((c = conn_open(fd)))
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, c);
    return fd != NO_ROOM;
}

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    bool room = true, stop = false;
    if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        fail("epoll_create1");
    watch(signals, EPOLLIN | EPOLLET, &signals);
    watch(listener, EPOLLIN | EPOLLET, &listener);
    while (!stop) {
        struct epoll_event events[EVENTS];
        bool called = !room;
        int count = epoll_wait(epoll, events, EVENTS, queue ? 0 : room ? -1 : PAUSE_MS);
        for (int i = 0; i < count; i++) {
            struct conn *c = events[i].data.ptr;
            if (events[i].data.ptr == &signals) {
                stop = told_to_stop(signals);
            } else if (events[i].data.ptr == &listener) {
                called = true;
            } else {
                c->ready |= events[i].events;
                enqueue(c);
            }
        }
        run_queue();
        if (called)
            room = accept_waiting(listener);
    }
    close_all();
    close(listener);
    close(signals);
    close(epoll);
    return 0;
}

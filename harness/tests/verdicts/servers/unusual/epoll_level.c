/*
 * Unusual: waits in epoll_wait(), level-triggered, a few events at a time. epoll_level PORT
 *
 * Right, since what is ready and was not reported will be reported by the next call; the kernel
 * goes round, so nobody is passed over. Interest is changed by EPOLL_CTL_MOD where it has changed.
 */
#include "echo.h"

#include <sys/epoll.h>

enum { EVENTS = 7 };

static int epoll;

/* `fd` is -1 - fd where it is one of our own, not a client's. */
static void watch(int operation, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(epoll, operation, fd < 0 ? -1 - fd : fd, &event) < 0)
        fail("epoll_ctl");
}

static void turn(struct conn *c)
{
    bool owed = owes(c);
    if (!conn_turn(c))
        conn_close(c); /* which takes it out of epoll's set, too */
    else if (owes(c) != owed)
        watch(EPOLL_CTL_MOD, c->fd, owes(c) ? EPOLLOUT : EPOLLIN);
}

/* False: no descriptor was left for somebody. */
static bool accept_waiting(int listener)
{
    int fd;
    while ((fd = accept_next(listener, SOCK_NONBLOCK)) >= 0)
        if (conn_open(fd))
            watch(EPOLL_CTL_ADD, fd, EPOLLIN);
    return fd != NO_ROOM;
}

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    bool room = true, stop = false;
    if ((epoll = epoll_create1(EPOLL_CLOEXEC)) < 0)
        fail("epoll_create1");
    watch(EPOLL_CTL_ADD, -1 - signals, EPOLLIN);
    watch(EPOLL_CTL_ADD, -1 - listener, EPOLLIN);
    while (!stop) {
        struct epoll_event events[EVENTS];
        bool had_room = room, called = !room;
        int count = epoll_wait(epoll, events, EVENTS, room ? -1 : PAUSE_MS);
        for (int i = 0; i < count; i++) {
            int fd = events[i].data.fd;
            if (fd >= 0)
                turn(conns[fd]);
            else if (fd == -1 - listener)
                called = true;
            else
                stop = told_to_stop(signals);
        }
        if (called)
            room = accept_waiting(listener);
        if (room != had_room)
            watch(EPOLL_CTL_MOD, -1 - listener, room ? EPOLLIN : 0);
    }
    close_all();
    close(listener);
    close(signals);
    close(epoll);
    return 0;
}

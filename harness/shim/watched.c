#define _GNU_SOURCE
#include "shim.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

/* The interest that was recorded last, by descriptor. A wait for a thousand connections is recorded
 * only where something has changed or is ready. */
static _Atomic uint8_t told[FDS_MAX];

static bool wanted(void)
{
    return shared != NULL && shared->detail != 0;
}

static bool looked_after(int fd)
{
    return fd >= 0 && fd < FDS_MAX;
}

void watched_forget(int fd)
{
    if (looked_after(fd))
        told[fd] = 0;
}

static void tell(const struct turn *turn, int fd, unsigned interest)
{
    if (!looked_after(fd) || told[fd] == interest)
        return;
    told[fd] = (uint8_t)interest;
    turn_watched(turn, fd, interest, 0);
}

static void tell_ready(const struct turn *turn, int fd, unsigned ready)
{
    if (looked_after(fd) && ready != 0)
        turn_watched(turn, fd, told[fd], ready);
}

/* poll() and epoll name the same bits alike. */
static unsigned bits(unsigned events)
{
    unsigned found = events & POLLIN ? WATCHED_IN : 0;
    found |= events & POLLOUT ? WATCHED_OUT : 0;
    return found | (events & (POLLERR | POLLHUP | POLLNVAL) ? WATCHED_ERROR : 0);
}

void watched_poll(const struct turn *turn, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell(turn, fds[i].fd, bits((unsigned short)fds[i].events));
}

void watched_poll_ready(const struct turn *turn, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell_ready(turn, fds[i].fd, bits((unsigned short)fds[i].revents));
}

static unsigned in_sets(int fd, const void *in, const void *out)
{
    bool input = in != NULL && FD_ISSET(fd, (const fd_set *)in);
    bool output = out != NULL && FD_ISSET(fd, (const fd_set *)out);
    return (input ? WATCHED_IN : 0) | (output ? WATCHED_OUT : 0);
}

void watched_select(const struct turn *turn, int count, const void *in, const void *out)
{
    for (int fd = 0; wanted() && fd < count && fd < FD_SETSIZE; fd++)
        tell(turn, fd, in_sets(fd, in, out));
}

void watched_select_ready(const struct turn *turn, int count, const void *in, const void *out)
{
    for (int fd = 0; wanted() && fd < count && fd < FD_SETSIZE; fd++)
        tell_ready(turn, fd, in_sets(fd, in, out));
}

void watched_epoll(int fd, const struct epoll_event *event)
{
    struct turn turn = {.call = CALL_epoll_ctl};
    if (wanted())
        tell(&turn, fd, event != NULL ? bits(event->events) : 0);
}

void watched_epoll_ready(const struct turn *turn, const struct epoll_event *events, int count)
{
    for (int i = 0; wanted() && i < count; i++) {
        for (int fd = sockets_find(ANY, 0); fd >= 0; fd = sockets_find(ANY, fd + 1)) {
            struct epoll_event asked;
            if (sockets_event(turn->fd, fd, &asked) && asked.data.u64 == events[i].data.u64)
                tell_ready(turn, fd, bits(events[i].events));
        }
    }
}

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

/* poll() and epoll name the same bits alike, and epoll has no POLLNVAL. */
static const struct {
    unsigned event;
    enum watched bit;
} BITS[] = {
    {POLLIN, WATCHED_IN},       {POLLOUT, WATCHED_OUT},   {POLLERR, WATCHED_ERROR},
    {POLLHUP, WATCHED_HANGUP},  {POLLRDHUP, WATCHED_END}, {POLLPRI, WATCHED_URGENT},
    {POLLNVAL, WATCHED_CLOSED},
};

static unsigned bits(unsigned events)
{
    unsigned found = 0;
    for (size_t i = 0; i < sizeof BITS / sizeof BITS[0]; i++)
        found |= events & BITS[i].event ? BITS[i].bit : 0;
    return found;
}

/* Interest has no bits that are reported anyway. */
static unsigned interest(unsigned events)
{
    return bits(events & ~(unsigned)(POLLERR | POLLHUP | POLLNVAL));
}

void watched_poll(const struct turn *turn, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell(turn, fds[i].fd, interest((unsigned short)fds[i].events));
}

void watched_poll_ready(const struct turn *turn, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell_ready(turn, fds[i].fd, bits((unsigned short)fds[i].revents));
}

static bool in_set(int fd, const void *set)
{
    return set != NULL && FD_ISSET(fd, (const fd_set *)set);
}

static unsigned in_sets(int fd, const void *in, const void *out, const void *urgent)
{
    unsigned found = in_set(fd, in) ? WATCHED_IN : 0;
    found |= in_set(fd, out) ? WATCHED_OUT : 0;
    return found | (in_set(fd, urgent) ? WATCHED_URGENT : 0);
}

void watched_select(const struct turn *turn, int count, const void *in, const void *out,
                    const void *urgent)
{
    for (int fd = 0; wanted() && fd < count && fd < FD_SETSIZE; fd++)
        tell(turn, fd, in_sets(fd, in, out, urgent));
}

void watched_select_ready(const struct turn *turn, int count, const void *in, const void *out,
                          const void *urgent)
{
    for (int fd = 0; wanted() && fd < count && fd < FD_SETSIZE; fd++)
        tell_ready(turn, fd, in_sets(fd, in, out, urgent));
}

void watched_epoll(int fd, const struct epoll_event *event)
{
    struct turn turn = {.call = CALL_epoll_ctl};
    if (wanted())
        tell(&turn, fd, event != NULL ? interest(event->events) : 0);
}

void watched_epoll_ready(const struct turn *turn, const struct epoll_event *events, int count)
{
    for (int i = 0; wanted() && i < count; i++) {
        uint64_t data = events[i].data.u64;
        for (int fd = sockets_meant(turn->fd, data, 0); fd >= 0;
             fd = sockets_meant(turn->fd, data, fd + 1))
            tell_ready(turn, fd, bits(events[i].events));
    }
}

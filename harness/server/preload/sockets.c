#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* By descriptor: 0 nothing known; n > 0: connection n - 1; n < 0: it was, and has been closed. */
static _Atomic int owner[FDS_MAX];
static _Atomic int highest = -1; /* descriptor of a connection, or in an epoll instance */

/* How a descriptor is watched. The last epoll instance that it was added to counts. */
static struct watch {
    int epfd;
    bool on; /* it is watched, if only for what is always reported */
    struct epoll_event event;
} watches[FDS_MAX];

static bool known(int fd)
{
    return fd >= 0 && fd < FDS_MAX;
}

static void remember(int fd)
{
    int high = highest;
    while (fd > high && !atomic_compare_exchange_weak(&highest, &high, fd))
        continue;
}

static void own(int fd, int number)
{
    owner[fd] = number;
    remember(fd);
}

/* A child may close whatever descriptors its parent had once. */
static void forget_closed(void)
{
    for (int fd = 0; fd <= highest; fd++) {
        if (owner[fd] < 0)
            owner[fd] = 0;
    }
}

void sockets_start(void)
{
    pthread_atfork(NULL, NULL, forget_closed);
}

int sockets_accepted(int fd)
{
    int number = (int)atomic_fetch_add(&shared->connections, 1);
    shared->connection_of[sockets_peer(fd)] = (uint32_t)number + 1;
    if (!known(fd))
        return NO_CONNECTION;
    own(fd, number + 1);
    watches[fd] = (struct watch){0};
    watched_forget(fd);
    return number;
}

uint16_t sockets_peer(int fd)
{
    int saved = errno;
    struct sockaddr_storage peer = {0};
    socklen_t length = sizeof peer;
    getpeername(fd, (struct sockaddr *)&peer, &length);
    errno = saved;
    if (peer.ss_family == AF_INET6)
        return ntohs(((struct sockaddr_in6 *)&peer)->sin6_port);
    return peer.ss_family == AF_INET ? ntohs(((struct sockaddr_in *)&peer)->sin_port) : 0;
}

int sockets_identified(int fd)
{
    uint16_t port = known(fd) && owner[fd] <= 0 ? sockets_peer(fd) : 0;
    uint32_t number = port != 0 ? shared->connection_of[port] : 0;
    if (number != 0)
        own(fd, (int)number);
    return sockets_connection(fd);
}

int sockets_connection(int fd)
{
    return known(fd) && owner[fd] > 0 ? owner[fd] - 1 : NO_CONNECTION;
}

bool sockets_closing(int fd)
{
    if (!known(fd))
        return false;
    watches[fd] = (struct watch){0};
    int was = owner[fd];
    if (was > 0)
        owner[fd] = -was;
    return was < 0;
}

bool sockets_blocking(int fd, int flags)
{
    return !(flags & MSG_DONTWAIT) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

bool sockets_ready(int fd, enum group group)
{
    struct pollfd wanted = {.fd = fd, .events = group == OUTPUT ? POLLOUT : POLLIN};
    return REAL(poll)(&wanted, 1, 0) > 0;
}

void sockets_watched(int epfd, int operation, int fd, const struct epoll_event *event)
{
    if (!known(fd))
        return;
    watches[fd] = (struct watch){.epfd = epfd};
    remember(fd);
    if (operation != EPOLL_CTL_DEL && event != NULL) {
        watches[fd].on = true;
        watches[fd].event = *event;
    }
}

int sockets_meant(int epfd, uint64_t data, int from)
{
    for (int fd = from; fd <= highest; fd++)
        if (watches[fd].on && watches[fd].epfd == epfd && watches[fd].event.data.u64 == data)
            return fd;
    return -1;
}

void sockets_rearm(int fd)
{
    if (!known(fd))
        return;
    struct epoll_event event = watches[fd].event;
    if (event.events & EPOLLET && !(event.events & EPOLLONESHOT))
        REAL(epoll_ctl)(watches[fd].epfd, EPOLL_CTL_MOD, fd, &event);
}

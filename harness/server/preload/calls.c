/* The functions that a server calls instead of the C library's. They say their arguments to
 * turn_begin(), and make the call that comes out of it. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* What a program built with _FORTIFY_SOURCE calls instead; the headers do not declare them. The
 * last argument is the size of the buffer, which the real function checks. */
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
                       __SOCKADDR_ARG address, socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t room);

/* Younger than some C libraries that are in use. */
int epoll_pwait2(int epfd, struct epoll_event *events, int room, const struct timespec *timeout,
                 const sigset_t *mask);

/* A call that moves bytes: CALL is made for turn.size of them. */
#define TRANSFER(name, fd, size, flags, ...)                                                       \
    do {                                                                                           \
        struct turn turn = turn_begin(CALL_##name, fd, size, flags);                               \
        if (turn.error != 0)                                                                       \
            return turn_fail(&turn);                                                               \
        return turn_end(&turn, CALL(name, __VA_ARGS__));                                           \
    } while (0)

ssize_t write(int fd, const void *data, size_t size)
{
    TRANSFER(write, fd, size, 0, fd, data, turn.size);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    TRANSFER(send, fd, size, flags, fd, data, turn.size, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG address,
               socklen_t length)
{
    TRANSFER(sendto, fd, size, flags, fd, data, turn.size, flags, address, length);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t size)
{
    TRANSFER(sendfile, to, size, 0, to, from, offset, turn.size);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t size)
{
    TRANSFER(sendfile64, to, size, 0, to, from, offset, turn.size);
}

ssize_t read(int fd, void *data, size_t size)
{
    if (!timers_await(fd))
        return -1;
    TRANSFER(read, fd, size, 0, fd, data, turn.size);
}

ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    if (!timers_await(fd))
        return -1;
    TRANSFER(__read_chk, fd, size, 0, fd, data, turn.size, room);
}

ssize_t recv(int fd, void *data, size_t size, int flags)
{
    TRANSFER(recv, fd, size, flags, fd, data, turn.size, flags);
}

ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
    TRANSFER(__recv_chk, fd, size, flags, fd, data, turn.size, room, flags);
}

ssize_t recvfrom(int fd, void *data, size_t size, int flags, __SOCKADDR_ARG address,
                 socklen_t *length)
{
    TRANSFER(recvfrom, fd, size, flags, fd, data, turn.size, flags, address, length);
}

ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
                       __SOCKADDR_ARG address, socklen_t *length)
{
    TRANSFER(__recvfrom_chk, fd, size, flags, fd, data, turn.size, room, flags, address, length);
}

/* Calls that move bytes from or into several places. With more places than this, and fewer bytes
 * allowed than asked for, the call is made for the first place alone. */
enum { PARTS_MAX = 64 };

static size_t parts_size(const struct iovec *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].iov_len;
    return size;
}

/* Copies as many parts as hold `size` bytes, the last one shortened. Returns their number. */
static size_t cut_parts(struct iovec *cut, const struct iovec *parts, size_t count, size_t size)
{
    size_t used = 0;
    while (used < count && used < PARTS_MAX && size > 0) {
        cut[used] = parts[used];
        if (cut[used].iov_len > size)
            cut[used].iov_len = size;
        size -= cut[used].iov_len;
        used++;
    }
    return used;
}

#define VECTOR_TRANSFER(name, fd, parts, count)                                                    \
    do {                                                                                           \
        size_t size = count > 0 ? parts_size(parts, (size_t)(count)) : 0;                          \
        struct turn turn = turn_begin(CALL_##name, fd, size, 0);                                   \
        if (turn.error != 0)                                                                       \
            return turn_fail(&turn);                                                               \
        if (turn.size == turn.asked)                                                               \
            return turn_end(&turn, CALL(name, fd, parts, count));                                  \
        struct iovec cut[PARTS_MAX];                                                               \
        int used = (int)cut_parts(cut, parts, (size_t)(count), turn.size);                         \
        return turn_end(&turn, CALL(name, fd, cut, used));                                         \
    } while (0)

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    VECTOR_TRANSFER(writev, fd, parts, count);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    VECTOR_TRANSFER(readv, fd, parts, count);
}

/* A copy of the message with space for `size` bytes only. */
static struct msghdr cut_message(const struct msghdr *message, struct iovec *cut, size_t size)
{
    struct msghdr shorter = *message;
    shorter.msg_iov = cut;
    shorter.msg_iovlen = cut_parts(cut, message->msg_iov, message->msg_iovlen, size);
    return shorter;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t size = parts_size(message->msg_iov, message->msg_iovlen);
    struct turn turn = turn_begin(CALL_sendmsg, fd, size, flags);
    if (turn.error != 0)
        return turn_fail(&turn);
    struct iovec cut[PARTS_MAX];
    struct msghdr shorter = *message;
    if (turn.size < turn.asked)
        shorter = cut_message(message, cut, turn.size);
    return turn_end(&turn, CALL(sendmsg, fd, &shorter, flags));
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    size_t size = parts_size(message->msg_iov, message->msg_iovlen);
    struct turn turn = turn_begin(CALL_recvmsg, fd, size, flags);
    if (turn.error != 0)
        return turn_fail(&turn);
    if (turn.size == turn.asked)
        return turn_end(&turn, CALL(recvmsg, fd, message, flags));
    struct iovec cut[PARTS_MAX];
    struct msghdr shorter = cut_message(message, cut, turn.size);
    ssize_t result = CALL(recvmsg, fd, &shorter, flags);
    shorter.msg_iov = message->msg_iov;
    shorter.msg_iovlen = message->msg_iovlen;
    *message = shorter; /* lengths and flags that the kernel has set */
    return turn_end(&turn, result);
}

/* Several messages at once: these fail, and are never cut. */
int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
    TRANSFER(sendmmsg, fd, 0, flags, fd, messages, count, flags);
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
             struct timespec *timeout)
{
    TRANSFER(recvmmsg, fd, 0, flags, fd, messages, count, flags, timeout);
}

/* Waits */

/* Reports connections as readable that have nothing to read. Returns how many more are ready. */
static int pretend_poll(const struct turn *turn, struct pollfd *fds, nfds_t count)
{
    int more = 0;
    for (nfds_t i = 0; i < count; i++) {
        int connection = sockets_connection(fds[i].fd);
        bool meant = connection != NO_CONNECTION &&
                     (turn->connection == ANY || turn->connection == connection);
        if (!meant || !(fds[i].events & POLLIN) || fds[i].revents & POLLIN)
            continue;
        more += fds[i].revents == 0;
        fds[i].revents |= POLLIN;
    }
    return more;
}

/* A wait. Where the schedule says SPURIOUS it is made without waiting (`now`), and `pretend` is
 * what is added to its result; when that is nothing, the wait is made as it was asked for, for
 * `limit` ns, or in slices: `slice` is one. `asked` and `found` tell what it was for, and what was
 * ready. */
#define WAIT_FOR(name, fd, size, limit, signals, now, pretend, asked, found, slice, ...)           \
    do {                                                                                           \
        struct turn turn = turn_begin(CALL_##name, fd, size, 0);                                   \
        int ready = 0;                                                                             \
        asked;                                                                                     \
        if (turn.error == SPURIOUS) {                                                              \
            ready = now;                                                                           \
            ready += ready >= 0 ? pretend : 0;                                                     \
            turn.error = ready != 0 ? SPURIOUS : 0;                                                \
        } else if (turn.error != 0) {                                                              \
            return (int)turn_fail(&turn);                                                          \
        }                                                                                          \
        if (ready == 0) {                                                                          \
            struct wait wait = wait_for(CALL_##name, fd, limit);                                   \
            wait_with_mask(&wait, signals);                                                        \
            do                                                                                     \
                ready = wait.sliced ? slice : CALL(name, __VA_ARGS__);                             \
            while (wait_again(&wait, ready == 0) || (ready < 0 && turn_was_paused(&turn)));        \
            wait_end(&wait);                                                                       \
        }                                                                                          \
        if (ready > 0)                                                                             \
            found;                                                                                 \
        return (int)turn_end(&turn, ready);                                                        \
    } while (0)

#define POLL_FOR(name, limit, signals, now, ...)                                                   \
    WAIT_FOR(name, -1, count, limit, signals, now, pretend_poll(&turn, fds, count),                \
             watched_poll(&turn, fds, count), watched_poll_ready(&turn, fds, count),               \
             REAL(ppoll)(fds, count, &wait.slice, &wait.mask), __VA_ARGS__)

#define EPOLL_FOR(name, limit, signals, now, ...)                                                  \
    WAIT_FOR(name, epfd, 0, limit, signals, now, pretend_epoll(&turn, events, ready, room),        \
             (void)0, watched_epoll_ready(&turn, events, ready),                                   \
             REAL(epoll_pwait)(epfd, events, room, ms_of(&wait.slice), &wait.mask), __VA_ARGS__)

static const struct timespec NO_TIME;

/* A time-out in ms as a limit in ns; below 0 it is none. */
static int64_t limit_of_ms(int timeout)
{
    return timeout < 0 ? NO_LIMIT : (int64_t)timeout * 1000000;
}

static int ms_of(const struct timespec *slice)
{
    return (int)((slice->tv_nsec + 999999) / 1000000);
}

/* What is left of a time-out in ms since the wait began; -1 is none. */
static int ms_left(int timeout, const struct turn *turn)
{
    uint64_t passed = (record_now() - turn->start_ns) / 1000000;
    if (timeout < 0 || turn->start_ns == 0)
        return timeout;
    return passed < (uint64_t)timeout ? timeout - (int)passed : 0;
}

/* The same for epoll_pwait2(), which has it in `room`; NULL is none. */
static const struct timespec *time_left(const struct timespec *timeout, const struct turn *turn,
                                        struct timespec *room)
{
    const int64_t second = 1000000000;
    if (timeout == NULL || turn->start_ns == 0)
        return timeout;
    int64_t left = (int64_t)timeout->tv_sec * second + timeout->tv_nsec;
    left -= (int64_t)(record_now() - turn->start_ns);
    left = left > 0 ? left : 0;
    *room = (struct timespec){.tv_sec = left / second, .tv_nsec = left % second};
    return room;
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    POLL_FOR(poll, limit_of_ms(timeout), NULL, REAL(poll)(fds, count, 0), fds, count, timeout);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
    POLL_FOR(__poll_chk, limit_of_ms(timeout), NULL, REAL(poll)(fds, count, 0), fds, count, timeout,
             room);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    POLL_FOR(ppoll, limit_of(timeout), mask, REAL(ppoll)(fds, count, &NO_TIME, mask), fds, count,
             timeout, mask);
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t room)
{
    POLL_FOR(__ppoll_chk, limit_of(timeout), mask, REAL(ppoll)(fds, count, &NO_TIME, mask), fds,
             count, timeout, mask, room);
}

/* The bit of a descriptor in a set that may be larger than FD_SETSIZE. */
static bool bit_of(const fd_set *set, int fd)
{
    return set != NULL && (set->fds_bits[fd / NFDBITS] >> (fd % NFDBITS) & 1);
}

/* What select() leaves in `in`: nothing to read there, but a connection that was asked about. */
static int pretend_select(int meant, fd_set *in)
{
    if (bit_of(in, meant))
        return 0;
    in->fds_bits[meant / NFDBITS] |= (fd_mask)1 << (meant % NFDBITS);
    return 1;
}

/* The descriptor in `in` that is to be reported, -1 if there is none. */
static int meant_in(const struct turn *turn, const fd_set *in, int count)
{
    int fd = -1;
    do {
        fd = sockets_find(turn->connection, fd + 1);
    } while (fd >= 0 && (fd >= count || !bit_of(in, fd)));
    return fd;
}

/* Each slice gets the sets as they were: the one before has left in them what was ready. */
static int select_in_slices(struct wait *wait, int count, fd_set *in, fd_set *out, fd_set *urgent)
{
    fd_set *sets[] = {in, out, urgent};
    size_t size = ((size_t)count + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
    char asked[3][FDS_MAX / 8];
    if (count < 0 || size > sizeof asked[0])
        return REAL(pselect)(count, in, out, urgent, &wait->slice, &wait->mask);
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL)
            memcpy(asked[i], sets[i], size);
    int ready;
    do {
        for (int i = 0; i < 3; i++)
            if (sets[i] != NULL)
                memcpy(sets[i], asked[i], size);
        ready = REAL(pselect)(count, in, out, urgent, &wait->slice, &wait->mask);
    } while (wait_again(wait, ready == 0));
    return ready;
}

/* A wait whose sets say both what it is for and what is ready. `now` makes it without waiting;
 * `after` is done behind it. */
#define SELECT_FOR(name, limit, signals, now, after, ...)                                          \
    do {                                                                                           \
        struct turn turn = turn_begin(CALL_##name, -1, (size_t)count, 0);                          \
        watched_select(&turn, count, in, out, urgent);                                             \
        int meant = turn.error == SPURIOUS ? meant_in(&turn, in, count) : -1;                      \
        if (meant >= 0) {                                                                          \
            int ready = now;                                                                       \
            return (int)turn_end(&turn, ready < 0 ? ready : ready + pretend_select(meant, in));    \
        }                                                                                          \
        if (turn.error > 0)                                                                        \
            return (int)turn_fail(&turn);                                                          \
        turn.error = 0;                                                                            \
        struct wait wait = wait_for(CALL_##name, -1, limit);                                       \
        wait_with_mask(&wait, signals);                                                            \
        int ready = wait.sliced ? select_in_slices(&wait, count, in, out, urgent)                  \
                                : CALL(name, __VA_ARGS__);                                         \
        after;                                                                                     \
        wait_end(&wait);                                                                           \
        if (ready > 0)                                                                             \
            watched_select_ready(&turn, count, in, out, urgent);                                   \
        return (int)turn_end(&turn, ready);                                                        \
    } while (0)

static int64_t limit_of_timeval(const struct timeval *limit)
{
    if (limit == NULL)
        return NO_LIMIT;
    return limit->tv_sec >= 0 && limit->tv_usec >= 0
               ? clock_ns(limit->tv_sec, 0) + limit->tv_usec * 1000
               : 0;
}

/* As Linux does it, select() leaves in its limit what is left of it. */
static void tell_left(const struct wait *wait, struct timeval *limit)
{
    if (!wait->sliced || limit == NULL)
        return;
    struct timespec left = clock_timespec(wait_left(wait));
    *limit = (struct timeval){.tv_sec = left.tv_sec, .tv_usec = left.tv_nsec / 1000};
}

int select(int count, fd_set *in, fd_set *out, fd_set *urgent, struct timeval *timeout)
{
    struct timeval none = {0};
    SELECT_FOR(select, limit_of_timeval(timeout), NULL, REAL(select)(count, in, out, urgent, &none),
               tell_left(&wait, timeout), count, in, out, urgent, timeout);
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *urgent, const struct timespec *timeout,
            const sigset_t *mask)
{
    SELECT_FOR(pselect, limit_of(timeout), mask,
               REAL(pselect)(count, in, out, urgent, &NO_TIME, mask), (void)0, count, in, out,
               urgent, timeout, mask);
}

/* One event more, for the first connection meant that waits for input and is not reported yet. */
static int pretend_epoll(const struct turn *turn, struct epoll_event *events, int used, int room)
{
    if (used < 0 || used == room)
        return 0;
    for (int fd = sockets_find(turn->connection, 0); fd >= 0;
         fd = sockets_find(turn->connection, fd + 1)) {
        struct epoll_event event;
        if (!sockets_event(turn->fd, fd, &event) || !(event.events & EPOLLIN))
            continue;
        bool there = false;
        for (int i = 0; i < used; i++)
            there |= events[i].data.u64 == event.data.u64;
        if (there)
            continue;
        event.events = EPOLLIN;
        events[used] = event;
        return 1;
    }
    return 0;
}

int epoll_wait(int epfd, struct epoll_event *events, int room, int timeout)
{
    EPOLL_FOR(epoll_wait, limit_of_ms(timeout), NULL, REAL(epoll_wait)(epfd, events, room, 0), epfd,
              events, room, ms_left(timeout, &turn));
}

int epoll_pwait(int epfd, struct epoll_event *events, int room, int timeout, const sigset_t *mask)
{
    EPOLL_FOR(epoll_pwait, limit_of_ms(timeout), mask,
              REAL(epoll_pwait)(epfd, events, room, 0, mask), epfd, events, room,
              ms_left(timeout, &turn), mask);
}

int epoll_pwait2(int epfd, struct epoll_event *events, int room, const struct timespec *timeout,
                 const sigset_t *mask)
{
    struct timespec left;
    EPOLL_FOR(epoll_pwait2, limit_of(timeout), mask, REAL(epoll_pwait)(epfd, events, room, 0, mask),
              epfd, events, room, time_left(timeout, &turn, &left), mask);
}

/* Not scheduled, but remembered. */
int epoll_ctl(int epfd, int operation, int fd, struct epoll_event *event)
{
    int result = CALL(epoll_ctl, epfd, operation, fd, event);
    if (result == 0 && shared != NULL) {
        sockets_watched(epfd, operation, fd, event);
        watched_epoll(fd, operation != EPOLL_CTL_DEL ? event : NULL);
    }
    return result;
}

/* Connections begin and end */

static int accepted(struct turn *turn, int fd)
{
    if (fd >= 0 && shared != NULL) {
        turn->connection = sockets_accepted(fd);
        turn->asked = turn->size = sockets_peer(fd);
    }
    return (int)turn_end(turn, fd);
}

int accept(int fd, __SOCKADDR_ARG address, socklen_t *length)
{
    struct turn turn = turn_begin(CALL_accept, fd, 0, 0);
    if (turn.error != 0)
        return (int)turn_fail(&turn);
    return accepted(&turn, CALL(accept, fd, address, length));
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
    struct turn turn = turn_begin(CALL_accept4, fd, 0, 0);
    if (turn.error != 0)
        return (int)turn_fail(&turn);
    return accepted(&turn, CALL(accept4, fd, address, length, flags));
}

/* Whatever close() returns on Linux, the descriptor is closed: see close(2). */
int close(int fd)
{
    struct turn turn = turn_begin(CALL_close, fd, 0, 0);
    turn.closed_before = shared != NULL && sockets_closing(fd);
    timers_closing(fd);
    int result = CALL(close, fd);
    if (turn.error != 0 && result == 0)
        return (int)turn_fail(&turn);
    return (int)turn_end(&turn, result);
}

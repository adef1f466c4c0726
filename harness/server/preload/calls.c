/* The functions that move bytes, accept or close, which a server calls instead of the C library's.
 * They say their arguments to turn_begin(), and make the call that comes out of it. At the end those
 * of liburing, which are only counted. */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#pragma GCC visibility push(default)

/* A function with these parameters; the others are those of the call, for turn.size bytes. */
#define TRANSFER(name, parameters, flags, ...)                                                     \
    ssize_t name parameters                                                                        \
    {                                                                                              \
        struct turn turn = turn_begin(CALL_##name, fd, size, flags);                               \
        if (turn.error != 0)                                                                       \
            return turn_fail(&turn);                                                               \
        return turn_end(&turn, REAL(name)(__VA_ARGS__));                                           \
    }

TRANSFER(write, (int fd, const void *data, size_t size), 0, fd, data, turn.size)
TRANSFER(read, (int fd, void *data, size_t size), 0, fd, data, turn.size)
TRANSFER(send, (int fd, const void *data, size_t size, int flags), flags, fd, data, turn.size,
         flags)
TRANSFER(recv, (int fd, void *data, size_t size, int flags), flags, fd, data, turn.size, flags)
TRANSFER(sendto,
         (int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG address,
          socklen_t length),
         flags, fd, data, turn.size, flags, address, length)
TRANSFER(recvfrom,
         (int fd, void *data, size_t size, int flags, __SOCKADDR_ARG address, socklen_t *length),
         flags, fd, data, turn.size, flags, address, length)

/* What a program built with _FORTIFY_SOURCE calls instead; `room` is the size of the buffer. No
 * header declares them. */
_Noreturn void __chk_fail(void);

ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    return size <= room ? read(fd, data, size) : (__chk_fail(), 0);
}

ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
    return size <= room ? recv(fd, data, size, flags) : (__chk_fail(), 0);
}

ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
                       __SOCKADDR_ARG address, socklen_t *length)
{
    return size <= room ? recvfrom(fd, data, size, flags, address, length) : (__chk_fail(), 0);
}

/* Calls that move bytes from or into several places. With more places than this, and fewer bytes
 * allowed than asked for, the call is made for the first places alone. */
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

#define VECTOR_TRANSFER(name)                                                                      \
    ssize_t name(int fd, const struct iovec *parts, int count)                                     \
    {                                                                                              \
        size_t size = count > 0 ? parts_size(parts, (size_t)count) : 0;                            \
        struct turn turn = turn_begin(CALL_##name, fd, size, 0);                                   \
        if (turn.error != 0)                                                                       \
            return turn_fail(&turn);                                                               \
        struct iovec cut[PARTS_MAX];                                                               \
        if (turn.size < turn.asked) {                                                              \
            count = (int)cut_parts(cut, parts, (size_t)count, turn.size);                          \
            parts = cut;                                                                           \
        }                                                                                          \
        return turn_end(&turn, REAL(name)(fd, parts, count));                                      \
    }

VECTOR_TRANSFER(writev)
VECTOR_TRANSFER(readv)

/* The message with space for as many bytes as the call may move only. */
static struct msghdr cut_message(const struct turn *turn, const struct msghdr *message,
                                 struct iovec *cut)
{
    struct msghdr shorter = *message;
    if (turn->size < turn->asked) {
        shorter.msg_iov = cut;
        shorter.msg_iovlen = cut_parts(cut, message->msg_iov, message->msg_iovlen, turn->size);
    }
    return shorter;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    size_t size = parts_size(message->msg_iov, message->msg_iovlen);
    struct turn turn = turn_begin(CALL_sendmsg, fd, size, flags);
    if (turn.error != 0)
        return turn_fail(&turn);
    struct iovec cut[PARTS_MAX];
    struct msghdr shorter = cut_message(&turn, message, cut);
    return turn_end(&turn, REAL(sendmsg)(fd, &shorter, flags));
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    size_t size = parts_size(message->msg_iov, message->msg_iovlen);
    struct turn turn = turn_begin(CALL_recvmsg, fd, size, flags);
    if (turn.error != 0)
        return turn_fail(&turn);
    struct iovec cut[PARTS_MAX];
    struct msghdr shorter = cut_message(&turn, message, cut);
    ssize_t result = REAL(recvmsg)(fd, &shorter, flags);
    shorter.msg_iov = message->msg_iov;
    shorter.msg_iovlen = message->msg_iovlen;
    *message = shorter; /* lengths and flags that the kernel has set */
    return turn_end(&turn, result);
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

#define ACCEPT_CALL(name, parameters, ...)                                                         \
    int name parameters                                                                            \
    {                                                                                              \
        struct turn turn = turn_begin(CALL_##name, fd, 0, 0);                                      \
        return turn.error != 0 ? (int)turn_fail(&turn) : accepted(&turn, REAL(name)(__VA_ARGS__)); \
    }

ACCEPT_CALL(accept, (int fd, __SOCKADDR_ARG address, socklen_t *length), fd, address, length)
ACCEPT_CALL(accept4, (int fd, __SOCKADDR_ARG address, socklen_t *length, int flags), fd, address,
            length, flags)

/* Whatever close() returns on Linux, the descriptor is closed: see close(2). */
int close(int fd)
{
    struct turn turn = turn_begin(CALL_close, fd, 0, 0);
    turn.closed_before = shared != NULL && sockets_closing(fd);
    int result = REAL(close)(fd);
    if (turn.error != 0 && result == 0)
        return (int)turn_fail(&turn);
    return (int)turn_end(&turn, result);
}

/* Calls that hand over operations of io_uring(7), or wait for their completions. Most are made by
 * liburing itself. So its functions that make one are counted, but not those that are rarely used.
 * IORING_OP_TIMEOUT is the kernel's, and goes by the machine's clock. The header of liburing may be
 * missing here, and no pointer is looked at. */

static int counted(bool makes_a_call, int result)
{
    if (shared != NULL && makes_a_call)
        atomic_fetch_add_explicit(&shared->rings, 1, memory_order_relaxed);
    return result;
}

/* The function of the library, which the server calls; it is there, since that is linked. */
#define LIBRARY(name, ...)                                                                         \
    ({                                                                                             \
        static __typeof__(name) *_Atomic real;                                                     \
        if (real == NULL)                                                                          \
            real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                    \
        real != NULL ? real(__VA_ARGS__) : -ENOSYS;                                                \
    })

/* With nothing to submit it makes no call. */
int io_uring_submit(void *ring)
{
    int result = LIBRARY(io_uring_submit, ring);
    return counted(result != 0, result);
}

int io_uring_submit_and_wait(void *ring, unsigned least)
{
    int result = LIBRARY(io_uring_submit_and_wait, ring, least);
    return counted(least > 0 || result != 0, result);
}

int io_uring_submit_and_get_events(void *ring)
{
    return counted(true, LIBRARY(io_uring_submit_and_get_events, ring));
}

/* Inline functions of the header call it when no completion is there. */
int __io_uring_get_cqe(void *ring, void *completion, unsigned submits, unsigned least, void *set)
{
    int result = LIBRARY(__io_uring_get_cqe, ring, completion, submits, least, set);
    return counted(submits > 0 || least > 0, result);
}

/* Returns true if the slice is over and nothing has completed. A call that has also submitted
 * operations returns their number in this case, and also when a signal has ended it. */
static bool is_over(const struct wait *wait, uint64_t began_ns, int result, void *const *completion)
{
    if (result <= 0 || *completion != NULL)
        return result == -ETIME;
    return (int64_t)(record_now() - began_ns) >= limit_of(wait->limit);
}

/* The first slice submits. `limit` is a struct __kernel_timespec: the same where time_t has 64
 * bits. */
int io_uring_submit_and_wait_timeout(void *ring, void *completion, unsigned least, void *limit,
                                     void *set)
{
    struct wait wait;
    uint64_t began_ns;
    int result, submitted = 0;
    wait_begin(&wait, CALL_io_uring_enter, -1, limit, set);
    do {
        began_ns = record_now();
        result = LIBRARY(io_uring_submit_and_wait_timeout, ring, completion, least,
                         (void *)wait.limit, (void *)wait.set);
        submitted = result > 0 ? result : submitted;
    } while (wait_again(&wait, is_over(&wait, began_ns, result, completion)));
    wait_end(&wait);
    return counted(true, result == -ETIME && submitted > 0 ? submitted : result);
}

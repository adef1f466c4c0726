/*
 * A library that is loaded into a server (LD_PRELOAD) and counts its system calls.
 *
 * The environment variable EVENT_LOOP_SHIM names a file of the layout below, made by the harness,
 * which reads it while the server runs. Every process of the server maps the same file and adds to
 * the same numbers. Without the variable, or when the file is not as expected, the library counts
 * nothing and changes nothing.
 *
 * It also gives SIGUSR1 a handler that does nothing, without SA_RESTART: the harness sends it to
 * interrupt a system call of the server (EINTR, or a transfer cut short) at a moment of its choice.
 *
 * How it works: the dynamic linker finds our write() before the C library's. Ours counts, then
 * calls the next one, which dlsym(RTLD_NEXT) finds. Calls that the C library makes by itself (the
 * write() inside of printf) do not come by here, and a statically linked server cannot be counted.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The layout of the file. harness/shim/__init__.py reads it: change both, and VERSION with them. */
#define MAGIC   0x4d494853u /* "SHIM" */
#define VERSION 1u

struct counters {
    uint32_t magic;
    uint32_t version;
    _Atomic uint64_t outputs; /* write, send and their relatives */
    _Atomic uint64_t inputs;  /* read, recv and their relatives */
    _Atomic uint64_t waits;   /* poll, select, epoll_wait and their relatives */
    _Atomic uint64_t accepts; /* accept, accept4 */
};

static struct counters *counters; /* NULL: nothing is counted */

static void ignore_signal(int number)
{
    (void)number;
}

static struct counters *map_counters(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat st;
    void *map = MAP_FAILED;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size >= sizeof(struct counters))
        map = mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return NULL;
    struct counters *found = map;
    if (found->magic == MAGIC && found->version == VERSION)
        return found;
    munmap(map, sizeof(struct counters));
    return NULL;
}

__attribute__((constructor)) static void shim_start(void)
{
    int saved = errno;
    const char *path = getenv("EVENT_LOOP_SHIM");
    counters = path ? map_counters(path) : NULL;
    if (counters) {
        struct sigaction action = {.sa_handler = ignore_signal};
        sigaction(SIGUSR1, &action, NULL);
    }
    errno = saved;
}

#define COUNT(field)                                                                               \
    do {                                                                                           \
        if (counters)                                                                              \
            atomic_fetch_add_explicit(&counters->field, 1, memory_order_relaxed);                  \
    } while (0)

/* A transfer counts unless it is for stdin, stdout or stderr: a line in the log is no reply. */
#define COUNT_TRANSFER(field, fd)                                                                  \
    do {                                                                                           \
        if ((fd) > STDERR_FILENO)                                                                  \
            COUNT(field);                                                                          \
    } while (0)

/* Only a C library that lacks the function, so that nobody can have called it, has no next one. */
#define CALL_NEXT(name, ...)                                                                       \
    do {                                                                                           \
        static __typeof__(name) *_Atomic next;                                                     \
        if (!next)                                                                                 \
            next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                    \
        if (next)                                                                                  \
            return next(__VA_ARGS__);                                                              \
        errno = ENOSYS;                                                                            \
        return -1;                                                                                 \
    } while (0)

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

/* Outputs */

ssize_t write(int fd, const void *data, size_t size)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(write, fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(writev, fd, parts, count);
}

ssize_t send(int fd, const void *data, size_t size, int flags)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(send, fd, data, size, flags);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, __CONST_SOCKADDR_ARG address,
               socklen_t length)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(sendto, fd, data, size, flags, address, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(sendmsg, fd, message, flags);
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags)
{
    COUNT_TRANSFER(outputs, fd);
    CALL_NEXT(sendmmsg, fd, messages, count, flags);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t size)
{
    COUNT_TRANSFER(outputs, to);
    CALL_NEXT(sendfile, to, from, offset, size);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t size)
{
    COUNT_TRANSFER(outputs, to);
    CALL_NEXT(sendfile64, to, from, offset, size);
}

/* Inputs */

ssize_t read(int fd, void *data, size_t size)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(read, fd, data, size);
}

ssize_t __read_chk(int fd, void *data, size_t size, size_t room)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(__read_chk, fd, data, size, room);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(readv, fd, parts, count);
}

ssize_t recv(int fd, void *data, size_t size, int flags)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(recv, fd, data, size, flags);
}

ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(__recv_chk, fd, data, size, room, flags);
}

ssize_t recvfrom(int fd, void *data, size_t size, int flags, __SOCKADDR_ARG address,
                 socklen_t *length)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(recvfrom, fd, data, size, flags, address, length);
}

ssize_t __recvfrom_chk(int fd, void *data, size_t size, size_t room, int flags,
                       __SOCKADDR_ARG address, socklen_t *length)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(__recvfrom_chk, fd, data, size, room, flags, address, length);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(recvmsg, fd, message, flags);
}

int recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags,
             struct timespec *timeout)
{
    COUNT_TRANSFER(inputs, fd);
    CALL_NEXT(recvmmsg, fd, messages, count, flags, timeout);
}

/* Waits */

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    COUNT(waits);
    CALL_NEXT(poll, fds, count, timeout);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
    COUNT(waits);
    CALL_NEXT(__poll_chk, fds, count, timeout, room);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    COUNT(waits);
    CALL_NEXT(ppoll, fds, count, timeout, mask);
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
                const sigset_t *mask, size_t room)
{
    COUNT(waits);
    CALL_NEXT(__ppoll_chk, fds, count, timeout, mask, room);
}

int select(int count, fd_set *in, fd_set *out, fd_set *urgent, struct timeval *timeout)
{
    COUNT(waits);
    CALL_NEXT(select, count, in, out, urgent, timeout);
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *urgent, const struct timespec *timeout,
            const sigset_t *mask)
{
    COUNT(waits);
    CALL_NEXT(pselect, count, in, out, urgent, timeout, mask);
}

int epoll_wait(int epfd, struct epoll_event *events, int room, int timeout)
{
    COUNT(waits);
    CALL_NEXT(epoll_wait, epfd, events, room, timeout);
}

int epoll_pwait(int epfd, struct epoll_event *events, int room, int timeout, const sigset_t *mask)
{
    COUNT(waits);
    CALL_NEXT(epoll_pwait, epfd, events, room, timeout, mask);
}

int epoll_pwait2(int epfd, struct epoll_event *events, int room, const struct timespec *timeout,
                 const sigset_t *mask)
{
    COUNT(waits);
    CALL_NEXT(epoll_pwait2, epfd, events, room, timeout, mask);
}

/* Accepts */

int accept(int fd, __SOCKADDR_ARG address, socklen_t *length)
{
    COUNT(accepts);
    CALL_NEXT(accept, fd, address, length);
}

int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
    COUNT(accepts);
    CALL_NEXT(accept4, fd, address, length, flags);
}

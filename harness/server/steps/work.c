/*
 * Counts what a program does, so that its cost does not depend on the machine or on its load.
 *
 * This file is linked with a program whose other files were compiled with
 * -fsanitize-coverage=trace-pc: then the program calls __sanitizer_cov_trace_pc() at the beginning
 * of each of its basic blocks, which are pieces of code without a branch. And it is linked with
 * --wrap=NAME for each NAME of the macros below: then the program calls our function where it means that of the
 * C library. The library's calls of its own functions do not come by here.
 *
 * The environment variable EVENT_LOOP_WORK names a file of the layout below, made by the harness
 * (__init__.py says the same). Every process of the program maps it. Without the variable the
 * program counts for itself alone. With EVENT_LOOP_WORK_BLOCKS the blocks that malloc() joins count
 * as well.
 */
#define _GNU_SOURCE
#include "work.h"
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TALLIES = 256 };

/* What one thread has done. It has a cache line for itself. When there are more threads than
 * tallies the last one is shared, and may miss some. */
struct tally {
    uint64_t blocks; /* basic blocks that it has entered */
    uint64_t bytes;  /* that functions of the C library and of the kernel have moved or looked at */
    uint64_t calls;  /* system calls */
    uint64_t watched; /* descriptors that were given to poll() and select() */
    uint64_t joined;  /* blocks of memory, see look_at_blocks() */
} __attribute__((aligned(64)));

struct tallies {
    _Atomic uint32_t used; /* may be more than there are */
    struct tally tally[TALLIES];
};

static struct tallies own;
static struct tallies *tallies = &own;
static __thread struct tally *mine; /* NULL: none so far */
static bool blocks_count;           /* EVENT_LOOP_WORK_BLOCKS is set */
static _Atomic size_t blocks_apart; /* at the last look */

static struct tally *take(void)
{
    uint32_t number = atomic_fetch_add(&tallies->used, 1);
    mine = &tallies->tally[number < TALLIES ? number : TALLIES - 1];
    return mine;
}

static struct tally *count(void)
{
    return mine != NULL ? mine : take();
}

/* A child has the memory of its parent's thread, and must not use the tally of it. */
static void forget(void)
{
    mine = NULL;
}

__attribute__((constructor)) static void share(void)
{
    const char *name = getenv("EVENT_LOOP_WORK");
    int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *place = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (place == MAP_FAILED)
        return;
    tallies = place;
    blocks_count = getenv("EVENT_LOOP_WORK_BLOCKS") != NULL;
    forget();
    pthread_atfork(NULL, NULL, forget);
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    count()->blocks++;
}

uint64_t work_steps(void)
{
    uint64_t steps = 0;
    for (int i = 0; i < TALLIES; i++) {
        const struct tally *one = &tallies->tally[i];
        steps += one->blocks + one->bytes / BYTES_A_STEP + CALL_STEPS * one->calls +
                 WATCHED_STEPS * one->watched + JOINED_STEPS * one->joined;
    }
    return steps;
}

static void moved(size_t bytes)
{
    count()->bytes += bytes;
}

/* WRAP defines the function that is called in the place of NAME, and declares NAME's own as
 * real_NAME(). */
#define WRAP(name, type, ...)                                                                      \
    type real_##name(__VA_ARGS__) __asm__("__real_" #name);                                        \
    type wrapped_##name(__VA_ARGS__) __asm__("__wrap_" #name);                                     \
    type wrapped_##name(__VA_ARGS__)

/* WRAP for a function whose cost is known before it is called with ARGUMENTS. */
#define COSTS(name, type, cost, arguments, ...)                                                    \
    WRAP(name, type, __VA_ARGS__)                                                                  \
    {                                                                                              \
        cost;                                                                                      \
        return real_##name arguments;                                                              \
    }

/* What the C library does. A search looks at the bytes before what it finds, or at all. */

static void searched(const void *from, const void *found, size_t all)
{
    moved(found != NULL ? (size_t)((const char *)found - (const char *)from) + 1 : all);
}

WRAP(memchr, void *, const void *from, int value, size_t size)
{
    void *found = real_memchr(from, value, size);
    searched(from, found, size);
    return found;
}

WRAP(memrchr, void *, const void *from, int value, size_t size)
{
    char *found = real_memrchr(from, value, size);
    moved(found != NULL ? (size_t)((const char *)from + size - found) : size);
    return found;
}

WRAP(memmem, void *, const void *from, size_t size, const void *wanted, size_t length)
{
    void *found = real_memmem(from, size, wanted, length);
    searched(from, found, size);
    return found;
}

WRAP(strlen, size_t, const char *text)
{
    size_t length = real_strlen(text);
    moved(length);
    return length;
}

WRAP(strnlen, size_t, const char *text, size_t size)
{
    size_t length = real_strnlen(text, size);
    moved(length);
    return length;
}

WRAP(strchr, char *, const char *text, int letter)
{
    char *found = real_strchr(text, letter);
    searched(text, found, real_strlen(text));
    return found;
}

WRAP(strstr, char *, const char *text, const char *wanted)
{
    char *found = real_strstr(text, wanted);
    searched(text, found, real_strlen(text));
    return found;
}

WRAP(realloc, void *, void *block, size_t size)
{
    size_t before = malloc_usable_size(block);
    uintptr_t place = (uintptr_t)block;
    void *new = real_realloc(block, size);
    if (new != NULL && (uintptr_t) new != place)
        moved(before < size ? before : size);
    return new;
}

/* How many bytes of both are the same, and one more where they differ. */
static size_t compared(const char *one, const char *two, size_t size, bool text)
{
    size_t same = 0;
    while (same < size && one[same] == two[same] && !(text && one[same] == '\0'))
        same++;
    return same < size ? same + 1 : size;
}

COSTS(memcpy, void *, moved(size), (to, from, size), void *to, const void *from, size_t size)
COSTS(mempcpy, void *, moved(size), (to, from, size), void *to, const void *from, size_t size)
COSTS(memmove, void *, moved(size), (to, from, size), void *to, const void *from, size_t size)
COSTS(memset, void *, moved(size), (to, value, size), void *to, int value, size_t size)
COSTS(bzero, void, moved(size), (to, size), void *to, size_t size)
COSTS(bcopy, void, moved(size), (from, to, size), const void *from, void *to, size_t size)
COSTS(memcmp, int, moved(compared(one, two, size, false)), (one, two, size), const void *one,
      const void *two, size_t size)
COSTS(strcmp, int, moved(compared(one, two, SIZE_MAX, true)), (one, two), const char *one,
      const char *two)
COSTS(strncmp, int, moved(compared(one, two, size, true)), (one, two, size), const char *one,
      const char *two, size_t size)
COSTS(strrchr, char *, moved(real_strlen(text)), (text, letter), const char *text, int letter)
COSTS(strcpy, char *, moved(real_strlen(from)), (to, from), char *to, const char *from)
COSTS(stpcpy, char *, moved(real_strlen(from)), (to, from), char *to, const char *from)
COSTS(strncpy, char *, moved(size), (to, from, size), /* it fills the rest with zeros */
      char *to, const char *from, size_t size)
COSTS(strcat, char *, moved(real_strlen(to) + real_strlen(from)), (to, from), char *to,
      const char *from)
COSTS(strdup, char *, moved(real_strlen(text)), (text), const char *text)

/* System calls */

/* glibc's free() keeps small blocks apart, until a call of malloc() joins all of them. What happens
 * in there is not counted, but mallinfo2() tells how many blocks are kept apart. If there are fewer
 * than before, the others were joined, or have been used again. */
static void look_at_blocks(void)
{
    size_t now = mallinfo2().smblks;
    size_t before = atomic_exchange(&blocks_apart, now);
    count()->joined += before > now ? before - now : 0;
}

static void called(size_t descriptors)
{
    struct tally *tally = count();
    if (blocks_count)
        look_at_blocks();
    tally->calls++;
    tally->watched += descriptors; /* those that the kernel looks at */
}

/* WRAP for a call that is given so many descriptors. */
#define CALLS(name, descriptors, arguments, ...)                                                   \
    WRAP(name, int, __VA_ARGS__)                                                                   \
    {                                                                                              \
        int result = real_##name arguments;                                                        \
        called((size_t)(descriptors));                                                             \
        return result;                                                                             \
    }

/* WRAP for a call that returns how many bytes it has moved, or fails. */
#define MOVES(name, arguments, ...)                                                                \
    WRAP(name, ssize_t, __VA_ARGS__)                                                               \
    {                                                                                              \
        ssize_t result = real_##name arguments;                                                    \
        called(0);                                                                                 \
        moved(result > 0 ? (size_t)result : 0);                                                    \
        return result;                                                                             \
    }

MOVES(read, (fd, to, size), int fd, void *to, size_t size)
MOVES(readv, (fd, parts, number), int fd, const struct iovec *parts, int number)
MOVES(recv, (fd, to, size, flags), int fd, void *to, size_t size, int flags)
MOVES(recvfrom, (fd, to, size, flags, address, length), int fd, void *to, size_t size, int flags,
      void *address, socklen_t *length)
MOVES(recvmsg, (fd, message, flags), int fd, struct msghdr *message, int flags)
MOVES(write, (fd, from, size), int fd, const void *from, size_t size)
MOVES(writev, (fd, parts, number), int fd, const struct iovec *parts, int number)
MOVES(send, (fd, from, size, flags), int fd, const void *from, size_t size, int flags)
MOVES(sendto, (fd, from, size, flags, address, length), int fd, const void *from, size_t size,
      int flags, const void *address, socklen_t length)
MOVES(sendmsg, (fd, message, flags), int fd, const struct msghdr *message, int flags)
CALLS(poll, number, (fds, number, timeout), struct pollfd *fds, nfds_t number, int timeout)
CALLS(ppoll, number, (fds, number, timeout, mask), struct pollfd *fds, nfds_t number,
      const struct timespec *timeout, const sigset_t *mask)
CALLS(select, number, (number, in, out, urgent, timeout), int number, fd_set *in, fd_set *out,
      fd_set *urgent, struct timeval *timeout)
CALLS(pselect, number, (number, in, out, urgent, timeout, mask), int number, fd_set *in,
      fd_set *out, fd_set *urgent, const struct timespec *timeout, const sigset_t *mask)
CALLS(epoll_wait, 0, (epfd, events, room, timeout), int epfd, struct epoll_event *events, int room,
      int timeout)
CALLS(epoll_pwait, 0, (epfd, events, room, timeout, mask), int epfd, struct epoll_event *events,
      int room, int timeout, const sigset_t *mask)
CALLS(epoll_ctl, 0, (epfd, operation, fd, event), int epfd, int operation, int fd,
      struct epoll_event *event)
CALLS(accept, 0, (fd, address, length), int fd, void *address, socklen_t *length)
CALLS(accept4, 0, (fd, address, length, flags), int fd, void *address, socklen_t *length, int flags)
CALLS(close, 0, (fd), int fd)

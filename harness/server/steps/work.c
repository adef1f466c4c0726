/*
 * Counts what a program does, so that its cost does not depend on the machine or on its load.
 *
 * This file is linked with a program whose other files were compiled with
 * -fsanitize-coverage=trace-pc: then the program calls __sanitizer_cov_trace_pc() at the beginning
 * of each of its basic blocks, which are pieces of code without a branch. And it is linked with
 * --wrap=NAME for each WRAP below: then the program calls our function where it means that of the
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

/* Memory */

WRAP(memcpy, void *, void *to, const void *from, size_t size)
{
    moved(size);
    return real_memcpy(to, from, size);
}

WRAP(mempcpy, void *, void *to, const void *from, size_t size)
{
    moved(size);
    return real_mempcpy(to, from, size);
}

WRAP(memmove, void *, void *to, const void *from, size_t size)
{
    moved(size);
    return real_memmove(to, from, size);
}

WRAP(memset, void *, void *to, int value, size_t size)
{
    moved(size);
    return real_memset(to, value, size);
}

WRAP(__memcpy_chk, void *, void *to, const void *from, size_t size, size_t room)
{
    moved(size);
    return real___memcpy_chk(to, from, size, room);
}

WRAP(__mempcpy_chk, void *, void *to, const void *from, size_t size, size_t room)
{
    moved(size);
    return real___mempcpy_chk(to, from, size, room);
}

WRAP(__memmove_chk, void *, void *to, const void *from, size_t size, size_t room)
{
    moved(size);
    return real___memmove_chk(to, from, size, room);
}

WRAP(__memset_chk, void *, void *to, int value, size_t size, size_t room)
{
    moved(size);
    return real___memset_chk(to, value, size, room);
}

WRAP(bzero, void, void *to, size_t size)
{
    moved(size);
    real_bzero(to, size);
}

WRAP(bcopy, void, const void *from, void *to, size_t size)
{
    moved(size);
    real_bcopy(from, to, size);
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

/* A search looks at the bytes before what it finds, or at all. */
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

/* How many bytes of both are the same, and one more where they differ. */
static size_t compared(const char *one, const char *two, size_t size, bool text)
{
    size_t same = 0;
    while (same < size && one[same] == two[same] && !(text && one[same] == '\0'))
        same++;
    return same < size ? same + 1 : size;
}

WRAP(memcmp, int, const void *one, const void *two, size_t size)
{
    moved(compared(one, two, size, false));
    return real_memcmp(one, two, size);
}

/* Text */

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

WRAP(strrchr, char *, const char *text, int letter)
{
    moved(real_strlen(text));
    return real_strrchr(text, letter);
}

WRAP(strstr, char *, const char *text, const char *wanted)
{
    char *found = real_strstr(text, wanted);
    searched(text, found, real_strlen(text));
    return found;
}

WRAP(strcmp, int, const char *one, const char *two)
{
    moved(compared(one, two, SIZE_MAX, true));
    return real_strcmp(one, two);
}

WRAP(strncmp, int, const char *one, const char *two, size_t size)
{
    moved(compared(one, two, size, true));
    return real_strncmp(one, two, size);
}

WRAP(strcpy, char *, char *to, const char *from)
{
    moved(real_strlen(from));
    return real_strcpy(to, from);
}

WRAP(strncpy, char *, char *to, const char *from, size_t size)
{
    moved(size); /* it fills the rest with zeros */
    return real_strncpy(to, from, size);
}

WRAP(stpcpy, char *, char *to, const char *from)
{
    moved(real_strlen(from));
    return real_stpcpy(to, from);
}

WRAP(strcat, char *, char *to, const char *from)
{
    moved(real_strlen(to) + real_strlen(from));
    return real_strcat(to, from);
}

WRAP(strdup, char *, const char *text)
{
    moved(real_strlen(text));
    return real_strdup(text);
}

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

/* A call that has moved so many bytes, or has failed. */
static ssize_t called(ssize_t result)
{
    struct tally *tally = count();
    if (blocks_count)
        look_at_blocks();
    tally->calls++;
    tally->bytes += result > 0 ? (size_t)result : 0;
    return result;
}

/* A call after which it is not said how much was moved. */
static int did(int result)
{
    called(0);
    return result;
}

/* One that was given so many descriptors: the kernel looks at each of them. */
static int waited(int result, size_t descriptors)
{
    count()->watched += descriptors;
    return did(result);
}

WRAP(read, ssize_t, int fd, void *to, size_t size)
{
    return called(real_read(fd, to, size));
}

WRAP(readv, ssize_t, int fd, const struct iovec *parts, int number)
{
    return called(real_readv(fd, parts, number));
}

WRAP(recv, ssize_t, int fd, void *to, size_t size, int flags)
{
    return called(real_recv(fd, to, size, flags));
}

WRAP(recvfrom, ssize_t, int fd, void *to, size_t size, int flags, void *address, socklen_t *length)
{
    return called(real_recvfrom(fd, to, size, flags, address, length));
}

WRAP(recvmsg, ssize_t, int fd, struct msghdr *message, int flags)
{
    return called(real_recvmsg(fd, message, flags));
}

WRAP(write, ssize_t, int fd, const void *from, size_t size)
{
    return called(real_write(fd, from, size));
}

WRAP(writev, ssize_t, int fd, const struct iovec *parts, int number)
{
    return called(real_writev(fd, parts, number));
}

WRAP(send, ssize_t, int fd, const void *from, size_t size, int flags)
{
    return called(real_send(fd, from, size, flags));
}

WRAP(sendto, ssize_t, int fd, const void *from, size_t size, int flags, const void *address,
     socklen_t length)
{
    return called(real_sendto(fd, from, size, flags, address, length));
}

WRAP(sendmsg, ssize_t, int fd, const struct msghdr *message, int flags)
{
    return called(real_sendmsg(fd, message, flags));
}

WRAP(poll, int, struct pollfd *fds, nfds_t number, int timeout)
{
    return waited(real_poll(fds, number, timeout), number);
}

WRAP(ppoll, int, struct pollfd *fds, nfds_t number, const struct timespec *timeout,
     const sigset_t *mask)
{
    return waited(real_ppoll(fds, number, timeout, mask), number);
}

WRAP(select, int, int number, fd_set *in, fd_set *out, fd_set *urgent, struct timeval *timeout)
{
    return waited(real_select(number, in, out, urgent, timeout), (size_t)number);
}

WRAP(pselect, int, int number, fd_set *in, fd_set *out, fd_set *urgent,
     const struct timespec *timeout, const sigset_t *mask)
{
    return waited(real_pselect(number, in, out, urgent, timeout, mask), (size_t)number);
}

WRAP(epoll_wait, int, int epfd, struct epoll_event *events, int room, int timeout)
{
    return did(real_epoll_wait(epfd, events, room, timeout));
}

WRAP(epoll_pwait, int, int epfd, struct epoll_event *events, int room, int timeout,
     const sigset_t *mask)
{
    return did(real_epoll_pwait(epfd, events, room, timeout, mask));
}

WRAP(epoll_ctl, int, int epfd, int operation, int fd, struct epoll_event *event)
{
    return did(real_epoll_ctl(epfd, operation, fd, event));
}

WRAP(accept, int, int fd, void *address, socklen_t *length)
{
    return did(real_accept(fd, address, length));
}

WRAP(accept4, int, int fd, void *address, socklen_t *length, int flags)
{
    return did(real_accept4(fd, address, length, flags));
}

WRAP(close, int, int fd)
{
    return did(real_close(fd));
}

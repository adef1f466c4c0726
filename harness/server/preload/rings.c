/* Counts the calls that hand over operations of io_uring(7), or wait for their completions. Most
 * are made by liburing itself. So its functions that make one are counted. Those with a limit wait
 * in slices, see waits.c. IORING_OP_TIMEOUT is the kernel's, and goes by the machine's clock. */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>

#pragma GCC visibility push(default)

/* The header of liburing may be missing here, and no pointer is looked at. */
int io_uring_submit(void *ring);
int io_uring_submit_and_wait(void *ring, unsigned least);
int io_uring_submit_and_wait_timeout(void *ring, void *completion, unsigned least, void *limit,
                                     void *set);
int io_uring_submit_and_get_events(void *ring);
int io_uring_get_events(void *ring);
int io_uring_wait_cqes(void *ring, void *completion, unsigned least, void *limit, void *set);
int io_uring_wait_cqe_timeout(void *ring, void *completion, void *limit);
int __io_uring_get_cqe(void *ring, void *completion, unsigned submits, unsigned least, void *set);
int io_uring_enter(unsigned fd, unsigned submits, unsigned least, unsigned flags, void *set);
int io_uring_enter2(unsigned fd, unsigned submits, unsigned least, unsigned flags, void *set,
                    size_t size);

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

/* struct __kernel_timespec */
struct limit {
    int64_t seconds;
    long long ns;
};

static struct wait wait_of(const struct limit *limit)
{
    struct timespec time = {0};
    if (limit != NULL)
        time = (struct timespec){.tv_sec = limit->seconds, .tv_nsec = limit->ns};
    return wait_for(CALL_io_uring_enter, -1, limit_of(limit != NULL ? &time : NULL));
}

static struct limit slice_of(const struct wait *wait)
{
    return (struct limit){.seconds = wait->slice.tv_sec, .ns = wait->slice.tv_nsec};
}

/* Whether the slice is over, and nothing has completed. A call that has also submitted operations
 * returns their number then, as it does when a signal has ended it before. */
static bool is_over(const struct wait *wait, uint64_t began_ns, int result, void *const *completion)
{
    if (result <= 0 || *completion != NULL)
        return result == -ETIME;
    int64_t slice_ns = clock_ns(wait->slice.tv_sec, wait->slice.tv_nsec);
    return (int64_t)(record_now() - began_ns) >= slice_ns;
}

/* A call of the library that takes a `limit` and a `set` of signals; both may be NULL. The
 * signals that are blocked between two slices may come while it waits. The first slice submits. */
#define WAIT_FOR(limit, set, call)                                                                 \
    do {                                                                                           \
        struct wait wait = wait_of(limit);                                                         \
        struct limit slice;                                                                        \
        uint64_t began_ns;                                                                         \
        int result, submitted = 0;                                                                 \
        wait_with_mask(&wait, set);                                                                \
        do {                                                                                       \
            slice = slice_of(&wait);                                                               \
            limit = wait.sliced ? &slice : limit;                                                  \
            set = wait.sliced ? &wait.mask : set;                                                  \
            began_ns = record_now();                                                               \
            result = call;                                                                         \
            submitted = result > 0 ? result : submitted;                                           \
        } while (wait_again(&wait, is_over(&wait, began_ns, result, completion)));                 \
        wait_end(&wait);                                                                           \
        return counted(true, result == -ETIME && submitted > 0 ? submitted : result);              \
    } while (0)

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

int io_uring_submit_and_wait_timeout(void *ring, void *completion, unsigned least, void *limit,
                                     void *set)
{
    WAIT_FOR(limit, set,
             LIBRARY(io_uring_submit_and_wait_timeout, ring, completion, least, limit, set));
}

int io_uring_submit_and_get_events(void *ring)
{
    return counted(true, LIBRARY(io_uring_submit_and_get_events, ring));
}

int io_uring_get_events(void *ring)
{
    return counted(true, LIBRARY(io_uring_get_events, ring));
}

int io_uring_wait_cqes(void *ring, void *completion, unsigned least, void *limit, void *set)
{
    WAIT_FOR(limit, set, LIBRARY(io_uring_wait_cqes, ring, completion, least, limit, set));
}

int io_uring_wait_cqe_timeout(void *ring, void *completion, void *limit)
{
    void *set = NULL; /* the same call, with a set */
    WAIT_FOR(limit, set, LIBRARY(io_uring_wait_cqes, ring, completion, 1, limit, set));
}

/* Inline functions of the header call it when no completion is there. */
int __io_uring_get_cqe(void *ring, void *completion, unsigned submits, unsigned least, void *set)
{
    return counted(submits > 0 || least > 0,
                   LIBRARY(__io_uring_get_cqe, ring, completion, submits, least, set));
}

int io_uring_enter(unsigned fd, unsigned submits, unsigned least, unsigned flags, void *set)
{
    return counted(true, LIBRARY(io_uring_enter, fd, submits, least, flags, set));
}

int io_uring_enter2(unsigned fd, unsigned submits, unsigned least, unsigned flags, void *set,
                    size_t size)
{
    return counted(true, LIBRARY(io_uring_enter2, fd, submits, least, flags, set, size));
}

/* Waits of a thread by itself: it sleeps, or waits for another thread or for a signal. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* The machine's time at the end of the next slice. */
static struct timespec end_of_slice(const struct wait *wait)
{
    int64_t now = (int64_t)record_now();
    return clock_timespec(now + clock_ns(wait->slice.tv_sec, wait->slice.tv_nsec));
}

/* Sleeps to the end of the wait. Returns EINTR if a signal ends it, and then what is `left`. */
static int sleep_on(struct wait *wait, struct timespec *left)
{
    int result;
    wait_with_mask(wait, NULL);
    do
        result = REAL(ppoll)(NULL, 0, &wait->slice, &wait->mask);
    while (wait_again(wait, result == 0));
    if (result < 0 && left != NULL)
        *left = clock_timespec(wait_left(wait));
    wait_end(wait);
    return result < 0 ? EINTR : 0;
}

#pragma GCC visibility push(default)

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    int64_t limit = limit_of(time);
    bool absolute = flags & TIMER_ABSTIME;
    if (!clock_is_ours(clock) || limit == 0)
        return REAL(clock_nanosleep)(clock, flags, time, left);
    struct wait wait = absolute ? wait_until(CALL_clock_nanosleep, -1, clock, limit)
                                : wait_for(CALL_clock_nanosleep, -1, limit);
    return sleep_on(&wait, absolute ? NULL : left);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (!clock_is_ours(CLOCK_MONOTONIC))
        return REAL(nanosleep)(time, left);
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = error != 0 ? error : errno;
    return error != 0 ? -1 : 0;
}

int usleep(useconds_t us)
{
    struct timespec time = clock_timespec((int64_t)us * 1000);
    return nanosleep(&time, NULL);
}

unsigned int sleep(unsigned int seconds)
{
    struct timespec time = {.tv_sec = seconds}, left;
    if (nanosleep(&time, &left) == 0)
        return 0;
    return (unsigned)left.tv_sec + (left.tv_nsec >= 500000000);
}

/* A condition may be signalled between two slices, when nobody waits for it: then the next one does
 * not begin, or ends in a moment, as if by chance. (pthread_cond_wait(3) allows that.) Conditions
 * whose addresses are alike share a number. */
static _Atomic uint32_t signalled[256];

static _Atomic uint32_t *signals_of(const pthread_cond_t *condition)
{
    return &signalled[(uintptr_t)condition / sizeof *condition % 256];
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    atomic_fetch_add(signals_of(condition), 1);
    return REAL(pthread_cond_signal)(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    atomic_fetch_add(signals_of(condition), 1);
    return REAL(pthread_cond_broadcast)(condition);
}

int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until)
{
    if (!clock_is_ours(clock) || limit_of(until) == 0)
        return REAL(pthread_cond_clockwait)(condition, mutex, clock, until);
    uint32_t before = *signals_of(condition);
    struct wait wait = wait_until(CALL_pthread_cond_clockwait, -1, clock, limit_of(until));
    int result;
    do {
        if (before != *signals_of(condition)) {
            result = 0;
            break;
        }
        struct timespec end = end_of_slice(&wait);
        result = REAL(pthread_cond_clockwait)(condition, mutex, CLOCK_MONOTONIC, &end);
    } while (wait_again(&wait, result == ETIMEDOUT));
    wait_end(&wait);
    return result;
}

/* The clock that a condition was made with: see __condvar_get_clockid() in glibc. */
static clockid_t clock_of(const pthread_cond_t *condition)
{
#ifdef __GLIBC__
    return condition->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
#else
    (void)condition;
    return CLOCK_REALTIME;
#endif
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    if (!clock_is_ours(CLOCK_REALTIME) || REAL(pthread_cond_clockwait) == NULL)
        return REAL(pthread_cond_timedwait)(condition, mutex, until);
    return pthread_cond_clockwait(condition, mutex, clock_of(condition), until);
}

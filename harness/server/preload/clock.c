/* The clock that the program reads: the machine's, or one that the harness moves; and the sleeps,
 * which go by it. Clocks of the processor time are always the machine's, and so are the timers of
 * the kernel: these are counted. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const int64_t SECOND = 1000000000;

/* A sanitizer asks for the time in its free(), and dlsym() calls free(): so nothing is looked up
 * here. The C library's own function makes no system call: it is used as soon as it is known. */
static int real_clock_gettime(clockid_t id, struct timespec *now)
{
    if (!is_known(CALL_clock_gettime))
        return (int)syscall(SYS_clock_gettime, id, now);
    return REAL(clock_gettime)(id, now);
}

int64_t clock_machine(clockid_t id)
{
    struct timespec now;
    real_clock_gettime(id, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static bool is_time_of_day(clockid_t id)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

static bool is_processor_time(clockid_t id)
{
    return id < 0 || id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID;
}

bool clock_is_ours(clockid_t id)
{
    return shared != NULL && shared->clock.mode != MACHINE && !is_processor_time(id);
}

int64_t clock_now(clockid_t id)
{
    if (!clock_is_ours(id))
        return clock_machine(id);
    const struct clock *clock = &shared->clock;
    uint32_t generation, mode;
    int64_t ns;
    do { /* it may be moved meanwhile */
        generation = clock->generation;
        mode = clock->mode;
        ns = is_time_of_day(id) ? clock->realtime_ns : clock->monotonic_ns;
    } while (generation & 1 || generation != clock->generation);
    return mode == FLOWS ? ns + clock_machine(CLOCK_MONOTONIC) : ns;
}

struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

int64_t limit_of(const struct timespec *limit)
{
    const int64_t most = (NO_DUE - 1) / SECOND;
    if (limit == NULL)
        return NO_LIMIT;
    if (limit->tv_sec < 0 || limit->tv_nsec < 0 || limit->tv_nsec >= SECOND)
        return 0;
    return limit->tv_sec < most ? limit->tv_sec * SECOND + limit->tv_nsec : NO_DUE - 1;
}

#pragma GCC visibility push(default)

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!clock_is_ours(id))
        return real_clock_gettime(id, now);
    atomic_fetch_add_explicit(&shared->clock.reads, 1, memory_order_relaxed);
    *now = clock_timespec(clock_now(id));
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    *now = (struct timeval){.tv_sec = time.tv_sec, .tv_usec = time.tv_nsec / 1000};
    if (zone != NULL)
        *(struct timezone *)zone = (struct timezone){0};
    return 0;
}

time_t time(time_t *now)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    if (now != NULL)
        *now = time.tv_sec;
    return time.tv_sec;
}

int timespec_get(struct timespec *now, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
}

/* One that lasts until a time of day is the kernel's. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
    bool absolute = flags & TIMER_ABSTIME;
    if (!clock_is_ours(clock) || limit_of(time) == 0 || (absolute && is_time_of_day(clock)))
        return REAL(clock_nanosleep)(clock, flags, time, left);
    int64_t ns = limit_of(time) - (absolute ? clock_now(clock) : 0);
    if (ns <= 0)
        return 0;
    struct timespec limit = clock_timespec(ns);
    struct wait wait;
    int result;
    wait_begin(&wait, CALL_clock_nanosleep, -1, &limit, NULL);
    do
        result = REAL(ppoll)(NULL, 0, wait.limit, wait.set);
    while (wait_again(&wait, result == 0));
    if (result < 0 && left != NULL && !absolute)
        *left = clock_timespec(wait_left(&wait));
    wait_end(&wait);
    return result < 0 ? EINTR : 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    int error = clock_nanosleep(CLOCK_REALTIME, 0, time, left);
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

#define KERNEL_TIMER(type, name, parameters, ...)                                                  \
    type name parameters                                                                           \
    {                                                                                              \
        if (shared != NULL)                                                                        \
            shared->kernel_timers++;                                                               \
        return REAL(name)(__VA_ARGS__);                                                            \
    }

KERNEL_TIMER(unsigned int, alarm, (unsigned int seconds), seconds)
KERNEL_TIMER(int, setitimer,
             (__itimer_which_t which, const struct itimerval *restrict new,
              struct itimerval *restrict old),
             which, new, old)
KERNEL_TIMER(int, timer_create,
             (clockid_t clock, struct sigevent *restrict event, timer_t *restrict id), clock, event,
             id)
KERNEL_TIMER(int, timerfd_settime,
             (int fd, int flags, const struct itimerspec *new, struct itimerspec *old), fd, flags,
             new, old)

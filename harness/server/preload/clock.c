/* The clock that the program reads: the machine's, or one that the harness moves. Clocks of the
 * processor time are always the machine's. */
#define _GNU_SOURCE
#include "shim.h"

#include <sys/syscall.h>
#include <sys/time.h>
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

static bool is_monotonic(clockid_t id)
{
    return id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_MONOTONIC_RAW ||
           id == CLOCK_BOOTTIME || id == CLOCK_BOOTTIME_ALARM;
}

bool clock_is_ours(clockid_t id)
{
    if (shared == NULL || shared->clock.mode == CLOCK_OF_THE_MACHINE)
        return false;
    return is_monotonic(id) || is_time_of_day(id);
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
    return mode == CLOCK_FLOWS ? ns + clock_machine(CLOCK_MONOTONIC) : ns;
}

/* The program reads the clock. */
static int64_t read_clock(clockid_t id)
{
    atomic_fetch_add_explicit(&shared->clock.reads, 1, memory_order_relaxed);
    return clock_now(id);
}

struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND, .tv_nsec = ns % SECOND};
}

int64_t clock_ns(time_t seconds, int64_t ns)
{
    const int64_t most = (NO_DUE - 1) / SECOND;
    return seconds < most ? seconds * SECOND + ns : NO_DUE - 1;
}

int64_t limit_of(const struct timespec *limit)
{
    if (limit == NULL)
        return NO_LIMIT;
    bool valid = limit->tv_sec >= 0 && limit->tv_nsec >= 0 && limit->tv_nsec < SECOND;
    return valid ? clock_ns(limit->tv_sec, limit->tv_nsec) : 0;
}

#pragma GCC visibility push(default)

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!clock_is_ours(id))
        return real_clock_gettime(id, now);
    *now = clock_timespec(read_clock(id));
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    if (!clock_is_ours(CLOCK_REALTIME))
        return REAL(gettimeofday)(now, zone);
    struct timespec ns = clock_timespec(read_clock(CLOCK_REALTIME));
    *now = (struct timeval){.tv_sec = ns.tv_sec, .tv_usec = ns.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now)
{
    if (!clock_is_ours(CLOCK_REALTIME))
        return REAL(time)(now);
    time_t seconds = read_clock(CLOCK_REALTIME) / SECOND;
    if (now != NULL)
        *now = seconds;
    return seconds;
}

int timespec_get(struct timespec *now, int base)
{
    if (base != TIME_UTC || !clock_is_ours(CLOCK_REALTIME))
        return REAL(timespec_get)(now, base);
    *now = clock_timespec(read_clock(CLOCK_REALTIME));
    return base;
}

#include "fake_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

int64_t fake_clock_us = (int64_t)DAY_SECONDS * 1000000;
int64_t fake_day_us;

/* Replaces that of the C library. What a program has cost is asked of the kernel. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, id, now);
    int64_t us = fake_clock_us;
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
        us += fake_day_us;
    now->tv_sec = us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return 0;
}

/* The same for the time of day by its other name. */
time_t time(time_t *now)
{
    time_t seconds = (fake_clock_us + fake_day_us) / 1000000;
    if (now != NULL)
        *now = seconds;
    return seconds;
}

void fake_clock_begin(void)
{
    const int64_t wrap_us = ((int64_t)1 << 31) * MS;
    if (!check_number("wraps"))
        return;
    int64_t wraps = fake_clock_us / wrap_us + 1;
    check_step("begins %d ms before the clock is at %lld * 2^31 ms", WRAPS_IN_MS, (long long)wraps);
    fake_clock_us = wraps * wrap_us - WRAPS_IN_MS * MS;
}

void fake_clock_advance(int64_t us)
{
    check_step("lets %lld.%03d ms go by", (long long)(us / MS), (int)(us % MS));
    fake_clock_us += us;
}

#include "fake_clock.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

int64_t fake_clock_us = (int64_t)DAY_SECONDS * 1000000;

/* Replaces that of the C library. What a program has cost is asked of the kernel. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, id, now);
    now->tv_sec = fake_clock_us / 1000000;
    now->tv_nsec = fake_clock_us % 1000000 * 1000;
    return 0;
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

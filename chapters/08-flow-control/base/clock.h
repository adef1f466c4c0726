/* Time on the monotonic clock, which is never set back. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* How long to wait until then, in whole milliseconds; 0: that time has come. Rounded up, so that no
 * wait is too short. */
static inline int32_t clock_ms_until(int64_t time_us)
{
    int64_t left_us = time_us - clock_us();
    return left_us > 0 ? (int32_t)((left_us + 999) / 1000) : 0;
}

#endif

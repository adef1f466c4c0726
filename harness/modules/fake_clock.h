/* A clock that goes on when the check says so, and not before: what has to wait does so in no time,
 * and always for the same. It takes the place of the system's in the whole program. */
#ifndef GRADER_FAKE_CLOCK_H
#define GRADER_FAKE_CLOCK_H

#include <stdint.h>

enum {
    MS = 1000, /* us */
    DAY_SECONDS = 24 * 60 * 60,
    WRAPS_IN_MS = 4
};

extern int64_t fake_clock_us; /* since the machine was started */

/* To be called when a case has begun. With the option "wraps" the case begins WRAPS_IN_MS before a
 * multiple of 2^31 ms, where a time in 32 bits of milliseconds changes its sign or is 0 again. */
void fake_clock_begin(void);

/* It goes on by so much; the check has told it as a step. */
void fake_clock_advance(int64_t us);

#endif

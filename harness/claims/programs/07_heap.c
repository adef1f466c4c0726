/* The heap of timers: whatever is set and cancelled, they are called in their order, at their time.
 * links: timers.c */
#include "timer_probes.h"

#define ORDER   "timer-order"
#define REMOVAL "timer-removal"

enum { SMALL = 10, CASES = 200, SMALL_STEPS = 12, LONGEST_MS = 8, MANY = 1000 };

static struct probe *any(size_t count)
{
    return &timer_probes[check_below(count)];
}

static int32_t any_ms(void)
{
    return (int32_t)check_below(LONGEST_MS);
}

/* Time goes on in small steps, until all timers that were set have been called. */
static void run_to_the_end(void)
{
    int64_t end_us = fake_clock_us + (LONGEST_MS + 1) * MS;
    while (fake_clock_us < end_us) {
        fake_clock_advance(1 + (int64_t)check_below(MS));
        probes_run_all();
    }
}

static void in_order_of(size_t count)
{
    probes_begin_case(ORDER);
    for (size_t i = 0; i < count; i++) {
        probe_set(&timer_probes[i], any_ms());
        if (check_below(3) == 0)
            fake_clock_us += (int64_t)check_below(MS / count + 2);
    }
    run_to_the_end();
}

/* The smallest case that goes wrong is found first. */
static void order(void)
{
    for (size_t count = 1; count <= SMALL; count++)
        for (int i = 0; i < CASES / SMALL; i++)
            in_order_of(count);
    in_order_of(MANY);
    probes_end_case();
}

static void equal(void)
{
    for (size_t count = 2; count <= MANY; count = 3 * count / 2 + 1) {
        probes_begin_case(ORDER);
        for (size_t i = 0; i < count; i++)
            probe_set(&timer_probes[i], 5);
        fake_clock_advance(5 * MS);
        probes_run_all();
    }
    probes_end_case();
}

/* Timers come and go in any order, as many as `steps`. */
static void come_and_go(size_t count, size_t steps)
{
    probes_begin_case(REMOVAL);
    for (size_t i = 0; i < count; i++)
        probe_set(&timer_probes[i], any_ms());
    for (size_t i = 0; i < steps; i++) {
        struct probe *probe = any(count);
        if (check_below(4) == 0)
            probe_set(probe, any_ms());
        else
            probe_cancel(probe);
        if (check_below(8) == 0) {
            fake_clock_advance((int64_t)check_below(MS));
            probes_run_all();
        }
    }
    run_to_the_end();
    for (size_t i = 0; i < count; i++)
        CHECK(!timer_is_set(timer_probes[i].timer), "timer-cancelled", "timer %zu is still set", i);
}

static void cancelling(void)
{
    for (size_t count = 1; count <= SMALL; count++)
        for (int i = 0; i < CASES / SMALL; i++)
            come_and_go(count, count / 2 + 1);
    for (int i = 0; i < CASES; i++)
        come_and_go(2 * SMALL, SMALL_STEPS);
    come_and_go(MANY, MANY / 2);
    probes_end_case();
}

const struct check checks[] = {
    {"order", order},
    {"equal", equal},
    {"cancelling", cancelling},
    {0},
};

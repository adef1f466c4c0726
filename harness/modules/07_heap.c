/* The heap of timers: whatever is set and cancelled, they are called in their order, at their time.
 * links: timers.c */
#include <malloc.h>
#include <stdlib.h>

#include "timer_probes.h"

#define ORDER   "timer-order"
#define REMOVAL "timer-removal"
#define MEMORY  "timer-memory"

enum {
    SMALL = 10,
    CASES = 200,
    SMALL_STEPS = 12,
    LONGEST_MS = 8,
    MANY = 1000,
    LOT = 100 * 1000,
    PIECE_BYTES = 64 << 10, /* what one timer may allocate, and what may be left of them */
    TELL_AGAIN = 5000       /* else the grader would take slow for stuck */
};

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

/* What many timers cost, in steps and in CPU seconds; and what it costs to sort them, beside it */

static struct timer *set_of_them; /* as many as are measured */
static long called;

static void on_call(struct timer *timer, void *context)
{
    called++;
}

static void tell(const char *what, long i)
{
    if (i % TELL_AGAIN == 0)
        check_step("%s, timer %ld", what, i);
}

static void set_all(struct timers *timers, long count)
{
    for (long i = 0; i < count; i++) {
        tell("calls timer_set()", i);
        set_of_them[i] = (struct timer){.call = on_call};
        if (!timer_set(timers, &set_of_them[i], (int32_t)check_below(1000), false))
            check_impossible("no memory for a timer");
    }
}

static void cancel_all(struct timers *timers, long count)
{
    for (long i = 0; i < count; i++) {
        tell("calls timer_cancel()", i);
        timer_cancel(timers, &set_of_them[i]);
    }
}

static void run_all(struct timers *timers, long count)
{
    called = 0;
    for (int ms = 0; ms <= 1000; ms++) {
        tell("calls timers_run()", ms);
        timers_run(timers);
        fake_clock_us += MS;
    }
    CHECK(called == count, "timer-order", "%ld of %ld timers were called", called, count);
}

static int by_deadline(const void *left, const void *right)
{
    const struct timer *a = *(struct timer *const *)left, *b = *(struct timer *const *)right;
    return (a->deadline_us > b->deadline_us) - (a->deadline_us < b->deadline_us);
}

/* That takes n log n steps, too, and goes to and fro in memory as much. */
static double cost_of_sorting(long count)
{
    struct timer **sorted = check_memory((size_t)count * sizeof *sorted);
    for (long i = 0; i < count; i++) {
        set_of_them[i].deadline_us = (int64_t)check_below(1000);
        sorted[i] = &set_of_them[i];
    }
    double before = check_cpu_seconds();
    qsort(sorted, (size_t)count, sizeof *sorted, by_deadline);
    double seconds = check_cpu_seconds() - before;
    free(sorted);
    return seconds;
}

static void measure(void (*end)(struct timers *, long))
{
    long count = check_number("timers");
    struct timers *timers = timers_new();
    set_of_them = check_memory((size_t)count * sizeof *set_of_them);
    if (timers == NULL)
        check_impossible("no memory for timers");
    check_value("sorted", cost_of_sorting(count));
    double before = check_cpu_seconds(), steps = check_steps();
    set_all(timers, count);
    end(timers, count);
    check_value("timers", check_cpu_seconds() - before);
    if (steps >= 0)
        check_value("steps", check_steps() - steps);
    timers_free(timers);
    free(set_of_them);
}

static void cancelled(void)
{
    measure(cancel_all);
}

static void called_in_order(void)
{
    measure(run_all);
}

/* Bytes that are allocated. 0 with a sanitizer or valgrind, which have a malloc() of their own. */
static size_t allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* No timer pays for space for all others, and the space is given back. */
static void memory(void)
{
    struct timers *timers = timers_new();
    set_of_them = check_memory(LOT * sizeof *set_of_them);
    if (timers == NULL)
        check_impossible("no memory for timers");
    size_t first = allocated(), before = first;
    for (long i = 0; i < LOT; i++) {
        tell("calls timer_set()", i);
        set_of_them[i] = (struct timer){.call = on_call};
        if (!timer_set(timers, &set_of_them[i], 1, false))
            check_impossible("no memory for a timer");
        size_t after = allocated();
        CHECK(after <= before + PIECE_BYTES, MEMORY, "timer %ld has allocated %zu bytes", i,
              after - before);
        before = after;
    }
    cancel_all(timers, LOT);
    size_t left = allocated();
    CHECK(left <= first + PIECE_BYTES, MEMORY, "after %d timers %zu bytes are still allocated", LOT,
          left - first);
    timers_free(timers);
    free(set_of_them);
}

const struct check checks[] = {
    {"order", order},
    {"memory", memory},
    {"equal", equal},
    {"cancelling", cancelling},
    {"cancelled", cancelled},
    {"called", called_in_order},
    {0},
};

/* What many timers cost in CPU seconds; and, to hold it against, what it costs to sort them.
 * links: timers.c */
#include <stdlib.h>

#include "check.h"
#include "fake_clock.h"
#include "timers.h"

enum { TELL_AGAIN = 5000 }; /* else the grader would take slow for stuck */

static struct timer *set_of_them; /* as many as are measured */
static long called;

static void on_call(struct timer *timer, void *context)
{
    (void)timer, (void)context;
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
    struct timer **sorted = calloc((size_t)count, sizeof *sorted);
    if (sorted == NULL)
        check_impossible("no memory for %ld pointers", count);
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
    set_of_them = calloc((size_t)count, sizeof *set_of_them);
    if (timers == NULL || set_of_them == NULL)
        check_impossible("no memory for %ld timers", count);
    check_value("sorted", cost_of_sorting(count));
    double before = check_cpu_seconds();
    set_all(timers, count);
    end(timers, count);
    check_value("timers", check_cpu_seconds() - before);
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

const struct check checks[] = {
    {"cancelled", cancelled},
    {"called", called_in_order},
    {0},
};

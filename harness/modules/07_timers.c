/* Timers that are due together, whatever their calls do; and how long a wait for them may be.
 * links: timers.c */
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "timer_probes.h"

#define DUE     "timer-due-first"
#define AT_ONCE "timers-at-once"
#define TIMEOUT "timer-timeout"
#define CLOCK   "timer-clock"

#define HOUR_US ((int64_t)3600 * 1000 * MS)

enum { MANY = 200 };

/* Due at the same time */

/* Timers 0 to `count` - 1, all due now. */
static void begin_due(int count, void (*then)(struct probe *))
{
    probes_begin_case(DUE);
    for (int i = 0; i < count; i++)
        probe_set(&timer_probes[i], i / 2);
    timer_probes[0].then = then;
    fake_clock_advance(count * MS);
}

static void set_itself_again(struct probe *probe)
{
    probe_set(probe, 0);
}

static void sets_itself(void)
{
    begin_due(3, set_itself_again);
    for (int i = 1; i <= 4; i++) {
        probes_run_all();
        CHECK(timer_probes[0].calls == i, DUE, "timer 0, set by its own call, was not called");
    }
}

static void set_all_others(struct probe *probe)
{
    if (probe->calls == 1)
        for (int i = 3; i < MANY; i++)
            probe_set(&timer_probes[i], 0);
}

static void sets_many(void)
{
    begin_due(3, set_all_others);
    probes_run_all();
    probes_run_all();
}

static void cancel_others(struct probe *probe)
{
    for (int i = 1; i < 7; i += 2)
        probe_cancel(&timer_probes[i]);
    for (int i = 1; i < 7; i++)
        CHECK(timer_is_set(timer_probes[i].timer) == timer_probes[i].waits, "timer-cancelled",
              "timer_is_set() of timer %d is %s", i, timer_probes[i].waits ? "false" : "true");
}

static void cancels_others(void)
{
    begin_due(7, cancel_others);
    probes_run_all();
}

static void set_others_later(struct probe *probe)
{
    probe_set(&timer_probes[2], 5);
    probe_set(&timer_probes[3], 0);
    check_step("calls timer_reset() for timer 4, 7 ms from now");
    CHECK(timer_reset(probe_timers, timer_probes[4].timer, 7, true), DUE,
          "timer_reset() returned false, but the timer was due and not yet called");
    probe_expect_due(&timer_probes[4], fake_clock_us + 7 * MS);
}

static void sets_others_later(void)
{
    begin_due(6, set_others_later);
    probes_run_all();
    probes_run_all();
    fake_clock_advance(5 * MS);
    probes_run_all();
    fake_clock_advance(2 * MS);
    probes_run_all();
}

/* Memory that is freed: to touch it is a SIGSEGV from then on. */

static void *new_page(void)
{
    void *page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        check_impossible("no memory for a timer");
    return page;
}

static void free_timer(struct probe *probe)
{
    check_step("frees the memory of timer %d", probe_number(probe));
    munmap(probe->timer, (size_t)sysconf(_SC_PAGESIZE));
}

static void free_itself_and_others(struct probe *probe)
{
    free_timer(probe);
    for (int i = 2; i < 5; i++) {
        probe_cancel(&timer_probes[i]);
        free_timer(&timer_probes[i]);
    }
}

static void frees(void)
{
    probes_begin_case(DUE);
    for (int i = 0; i < 6; i++) {
        probe_use_timer(&timer_probes[i], new_page());
        probe_set(&timer_probes[i], i / 2);
    }
    timer_probes[0].then = free_itself_and_others;
    fake_clock_advance(6 * MS);
    probes_run_all();
    probes_run_all();
}

static void due(void)
{
    sets_itself();
    sets_many();
    cancels_others();
    sets_others_later();
    frees();
    probes_end_case();
}

/* How long a wait may be */

static void expect_timeout(int ms)
{
    check_step("calls timers_timeout()");
    int timeout = timers_timeout(probe_timers);
    CHECK(timeout == ms, TIMEOUT, "timers_timeout() returned %d instead of %d", timeout, ms);
}

static void timeout_of(int32_t ms, int64_t gone_us, int expected_ms)
{
    probes_begin_case(TIMEOUT);
    expect_timeout(-1);
    probe_set(&timer_probes[0], ms);
    fake_clock_advance(gone_us);
    expect_timeout(expected_ms);
    probe_cancel(&timer_probes[0]);
    expect_timeout(-1);
}

static void timeout_of_the_first(void)
{
    probes_begin_case(TIMEOUT);
    probe_set(&timer_probes[0], 30);
    probe_set(&timer_probes[1], 10);
    probe_set(&timer_probes[2], 20);
    expect_timeout(10);
    probe_cancel(&timer_probes[1]);
    expect_timeout(20);
    probe_set(&timer_probes[3], 0);
    expect_timeout(0);
}

/* After a wait of that length a timer is due, each time. */
static void waits_for_each(void)
{
    probes_begin_case(TIMEOUT);
    for (int i = 0; i < MANY; i++) {
        probe_set(&timer_probes[i], (int32_t)check_below(50));
        fake_clock_us += (int64_t)check_below(MS);
    }
    for (int ms; (ms = timers_timeout(probe_timers)) >= 0;) {
        check_step("gets %d from timers_timeout()", ms);
        fake_clock_advance(ms * MS);
        CHECK(probe_first_due() != NULL, TIMEOUT,
              "a wait of that length ends before a timer is due");
        probes_run_all();
    }
}

static void timeouts(void)
{
    timeout_of(10, 0, 10);
    timeout_of(10, 1, 10);
    timeout_of(10, 999, 10);
    timeout_of(10, 1000, 9);
    timeout_of(10, 1001, 9);
    timeout_of(10, 9 * MS + 1, 1);
    timeout_of(10, 10 * MS - 1, 1);
    timeout_of(10, 10 * MS, 0);
    timeout_of(10, 10 * MS + 1, 0);
    timeout_of(10, HOUR_US, 0);
    timeout_of(0, 0, 0);
    timeout_of(TIMER_MAX_MS, 0, INT_MAX);
    timeout_of(TIMER_MAX_MS, 1, INT_MAX);
    timeout_of(TIMER_MAX_MS, MS, INT_MAX - 1);
    timeout_of_the_first();
    waits_for_each();
    probes_end_case();
}

/* More of them than one run calls */

enum { LATER_COUNT = 3 * TIMERS_AT_ONCE - 100 };

static struct timer later_timers[LATER_COUNT];
static int later_calls;

static void on_later(struct timer *timer, void *context)
{
    CHECK(timer == &later_timers[later_calls], AT_ONCE, "timer %d was called instead of timer %d",
          (int)(timer - later_timers), later_calls);
    later_calls++;
}

/* So many that one run does not call them all. All of them are due. */
static void begin_later(const char *hint)
{
    probes_begin_case(hint);
    later_calls = 0;
    check_step("calls timer_set() for timers 0 to %d, 5 ms", LATER_COUNT - 1);
    for (int i = 0; i < LATER_COUNT; i++) {
        later_timers[i] = (struct timer){.call = on_later};
        if (!timer_set(probe_timers, &later_timers[i], 5, false))
            check_impossible("no memory for a timer");
    }
    fake_clock_advance(5 * MS);
}

static void at_once(void)
{
    begin_later(AT_ONCE);
    while (later_calls < LATER_COUNT) {
        int before = later_calls;
        check_step("calls timers_run(), with %d timers due", LATER_COUNT - before);
        timers_run(probe_timers);
        int calls = later_calls - before;
        CHECK(calls <= TIMERS_AT_ONCE, AT_ONCE, "timers_run() called %d timers, and not %d at most",
              calls, TIMERS_AT_ONCE);
        CHECK(calls > 0, AT_ONCE, "timers_run() called none of the %d timers that are due",
              LATER_COUNT - before);
    }
    check_step("calls timers_run(), with no timer set");
    timers_run(probe_timers);
    CHECK(later_calls == LATER_COUNT, AT_ONCE, "%d timers were set, and %d were called",
          LATER_COUNT, later_calls);
    probes_end_case();
}

static void left_are_due(void)
{
    begin_later(AT_ONCE);
    while (later_calls < LATER_COUNT) {
        int timeout = timers_timeout(probe_timers);
        CHECK(timeout == 0, AT_ONCE, "%d timers are due, and timers_timeout() returned %d",
              LATER_COUNT - later_calls, timeout);
        timers_run(probe_timers);
    }
    expect_timeout(-1);
    probes_end_case();
}

/* Somebody sets the clock on the wall, back and forth. */
static void time_of_day(void)
{
    static const int HOURS[] = {-5, 7};
    for (int i = 0; i < 2; i++) {
        probes_begin_case(CLOCK);
        probe_set(&timer_probes[0], 20);
        fake_clock_advance(10 * MS);
        check_step("sets the time of day %s by some hours", HOURS[i] < 0 ? "back" : "forward");
        fake_day_us += HOURS[i] * HOUR_US;
        probes_run();
        CHECK(timer_probes[0].waits, CLOCK, "timer 0 was called too early");
        fake_clock_advance(10 * MS);
        probes_run_all();
    }
    probes_end_case();
}

const struct check checks[] = {
    {"due", due},
    {"at_once", at_once},
    {"timeouts", timeouts},
    {"left_are_due", left_are_due},
    {"time_of_day", time_of_day},
    {0},
};

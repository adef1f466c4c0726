/* Timers that are due together, whatever their calls do; and how long a wait for them may be.
 * links: timers.c */
#include <limits.h>
#include <sys/mman.h>

#include "probes.h"

#define DUE     "timer-due-first"
#define TIMEOUT "timer-timeout"
#define CLOCK   "timer-clock"

#define HOUR_US ((int64_t)3600 * 1000 * MS)

enum { MANY = 200 };

/* Due at the same time */

/* Timers 0 to `count` - 1, all due now. */
static void begin_due(int count, void (*then)(struct probe *))
{
    begin_case(DUE);
    for (int i = 0; i < count; i++)
        set(&probes[i], i / 2);
    probes[0].then = then;
    clock_goes_on(count * MS);
}

static void set_itself_again(struct probe *probe)
{
    set(probe, 0);
}

static void sets_itself(void)
{
    begin_due(3, set_itself_again);
    for (int i = 1; i <= 4; i++) {
        run_all();
        CHECK(probes[0].calls == i, DUE, "timer 0, set by its own call, was not called");
    }
}

static void set_all_others(struct probe *probe)
{
    if (probe->calls == 1)
        for (int i = 3; i < MANY; i++)
            set(&probes[i], 0);
}

static void sets_many(void)
{
    begin_due(3, set_all_others);
    run_all();
    run_all();
}

static void cancel_others(struct probe *probe)
{
    (void)probe;
    for (int i = 1; i < 7; i += 2)
        cancel(&probes[i]);
    for (int i = 1; i < 7; i++)
        CHECK(timer_is_set(probes[i].timer) == probes[i].waits, "timer-cancelled",
              "timer_is_set() of timer %d is %s", i, probes[i].waits ? "false" : "true");
}

static void cancels_others(void)
{
    begin_due(7, cancel_others);
    run_all();
}

static void set_others_later(struct probe *probe)
{
    (void)probe;
    set(&probes[2], 5);
    set(&probes[3], 0);
    check_step("calls timer_reset() for timer 4, 7 ms from now");
    CHECK(timer_reset(timers, probes[4].timer, 7, true), DUE,
          "timer_reset() returned false, and it was due and not called");
    expect_due(&probes[4], clock_us + 7 * MS);
}

static void sets_others_later(void)
{
    begin_due(6, set_others_later);
    run_all();
    run_all();
    clock_goes_on(5 * MS);
    run_all();
    clock_goes_on(2 * MS);
    run_all();
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
    check_step("frees the memory of timer %d", number_of(probe));
    munmap(probe->timer, (size_t)sysconf(_SC_PAGESIZE));
}

static void free_itself_and_others(struct probe *probe)
{
    free_timer(probe);
    for (int i = 2; i < 5; i++) {
        cancel(&probes[i]);
        free_timer(&probes[i]);
    }
}

static void frees(void)
{
    begin_case(DUE);
    for (int i = 0; i < 6; i++) {
        use_timer(&probes[i], new_page());
        set(&probes[i], i / 2);
    }
    probes[0].then = free_itself_and_others;
    clock_goes_on(6 * MS);
    run_all();
    run_all();
}

static void due(void)
{
    sets_itself();
    sets_many();
    cancels_others();
    sets_others_later();
    frees();
    end_case();
}

/* How long a wait may be */

static void expect_timeout(int ms)
{
    check_step("calls timers_timeout()");
    int timeout = timers_timeout(timers);
    CHECK(timeout == ms, TIMEOUT, "timers_timeout() returned %d instead of %d", timeout, ms);
}

static void timeout_of(int32_t ms, int64_t gone_us, int expected_ms)
{
    begin_case(TIMEOUT);
    expect_timeout(-1);
    set(&probes[0], ms);
    clock_goes_on(gone_us);
    expect_timeout(expected_ms);
    cancel(&probes[0]);
    expect_timeout(-1);
}

static void timeout_of_the_first(void)
{
    begin_case(TIMEOUT);
    set(&probes[0], 30);
    set(&probes[1], 10);
    set(&probes[2], 20);
    expect_timeout(10);
    cancel(&probes[1]);
    expect_timeout(20);
    set(&probes[3], 0);
    expect_timeout(0);
}

/* Whoever waits as long as it says finds a timer that is due, each time. */
static void waits_for_each(void)
{
    begin_case(TIMEOUT);
    for (int i = 0; i < MANY; i++) {
        set(&probes[i], (int32_t)check_below(50));
        clock_us += (int64_t)check_below(MS);
    }
    for (int ms; (ms = timers_timeout(timers)) >= 0;) {
        check_step("has %d from timers_timeout()", ms);
        clock_goes_on(ms * MS);
        CHECK(first_due() != NULL, TIMEOUT, "a wait as long as that ends before a timer is due");
        run_all();
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
    end_case();
}

/* Somebody sets the clock on the wall, back and forth. */
static void time_of_day(void)
{
    static const int HOURS[] = {-5, 7};
    for (int i = 0; i < 2; i++) {
        begin_case(CLOCK);
        set(&probes[0], 20);
        clock_goes_on(10 * MS);
        check_step("sets the time of day %s by some hours", HOURS[i] < 0 ? "back" : "forward");
        day_us += HOURS[i] * HOUR_US;
        run();
        CHECK(probes[0].waits, CLOCK, "timer 0 was called too early");
        clock_goes_on(10 * MS);
        run_all();
    }
    end_case();
}

const struct check checks[] = {
    {"due", due},
    {"timeouts", timeouts},
    {"time_of_day", time_of_day},
    {0},
};

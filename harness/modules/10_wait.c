/* Coroutines that wait: for a time, for each other, and to be told that they are to end.
 * links: co.c context.c? stack.c timers.c */
#include "co_case.h"
#include "fake_clock.h"

#define PARK   "co-park"
#define SLEEP  "co-sleep"
#define CANCEL "co-cancel"

enum { WAIT_MS = 50, LONG_MS = 1000 * DAY_SECONDS, ROUNDED_US = 2000, WAITS_MAX = 4 };

static void begin_case(void)
{
    co_case_begin(STACK_BYTES);
    fake_clock_begin();
}

/* A coroutine that waits a few times, each time so long. */
struct waiter {
    struct coroutine *co; /* NULL: it has ended */
    bool sleeps;          /* by co_sleep */
    int times_ms[WAITS_MAX];
    int count;
    int over; /* waits */
    enum co_result results[WAITS_MAX];
};

static void wait_often(void *argument)
{
    struct waiter *w = argument;
    while (w->over < w->count) {
        int ms = w->times_ms[w->over];
        enum co_result result = w->sleeps ? co_sleep(ms) : co_park(ms);
        w->results[w->over++] = result;
    }
    w->co = NULL;
}

static void begin_waiting(struct waiter *w)
{
    for (int i = 0; i < w->count; i++)
        check_step("has a coroutine call %s(%d)%s", w->sleeps ? "co_sleep" : "co_park",
                   w->times_ms[i], i > 0 ? " after that" : "");
    w->co = co_case_start("waits", wait_often, w);
    co_case_run_all(w->sleeps ? SLEEP : PARK);
}

/* An iteration of the loop. */
static void turn(const char *hint)
{
    check_step("calls timers_run() and co_run()");
    timers_run(co_case_timers);
    co_run(co_case_scheduler);
    CHECK(!co_is_ready(co_case_scheduler), hint,
          "after an iteration of the loop the coroutine is ready again");
}

static void let_pass(int64_t us, const char *hint)
{
    fake_clock_advance(us);
    turn(hint);
}

static void expect_over(const struct waiter *w, int over, const char *hint)
{
    CHECK(w->over == over, hint, "the coroutine has ended its wait %s instead of %s",
          check_times(w->over), check_times(over));
}

static void expect_result(const struct waiter *w, int number, enum co_result due, const char *hint)
{
    CHECK(w->over > number, hint, "the coroutine's wait is not over, but %s is due",
          co_case_result_name(due));
    CHECK(w->results[number] == due, hint, "the coroutine's wait ended with %s; due is %s",
          co_case_result_name(w->results[number]), co_case_result_name(due));
}

static void wake(struct waiter *w, const char *hint)
{
    check_step("calls co_wake()");
    co_wake(w->co);
    turn(hint);
}

static void expect_no_timer(const char *hint)
{
    int ms = timers_timeout(co_case_timers);
    CHECK(ms == -1, hint,
          "a timer is still set, due in %d ms, but no coroutine waits for a deadline", ms);
}

/* Parked */

static void until_the_time_is_over(void)
{
    static const int times_ms[] = {0, 1, WAIT_MS, LONG_MS};
    for (int i = 0; i < 4; i++) {
        struct waiter w = {.times_ms = {times_ms[i]}, .count = 1};
        begin_case();
        fake_clock_us += (int64_t)check_below(MS);
        begin_waiting(&w);
        if (times_ms[i] > 0) {
            let_pass((int64_t)times_ms[i] * MS - 1, PARK);
            expect_over(&w, 0, PARK);
        }
        let_pass(1, PARK);
        expect_result(&w, 0, CO_LATE, PARK);
        expect_no_timer(PARK);
        co_case_end();
    }
}

static void woken_before_that(void)
{
    struct waiter w = {.times_ms = {WAIT_MS, -1, WAIT_MS, -1}, .count = 4};
    begin_case();
    begin_waiting(&w);
    let_pass(WAIT_MS * MS / 2, PARK);
    expect_over(&w, 0, PARK);
    wake(&w, PARK);
    expect_result(&w, 0, CO_WOKEN, PARK);
    expect_no_timer(PARK);
    let_pass(WAIT_MS * MS, PARK);
    expect_over(&w, 1, PARK);
    wake(&w, PARK);
    expect_result(&w, 1, CO_WOKEN, PARK);
    let_pass(WAIT_MS * MS, PARK);
    expect_result(&w, 2, CO_LATE, PARK);
    expect_no_timer(PARK);
    let_pass((int64_t)LONG_MS * MS, PARK);
    expect_over(&w, 3, PARK);
    wake(&w, PARK);
    expect_result(&w, 3, CO_WOKEN, PARK);
    co_case_end();
}

/* Each has a time of its own. */
static void many_at_a_time(void)
{
    enum { MANY = 100 };
    static struct waiter waiters[MANY];
    begin_case();
    for (int i = 0; i < MANY; i++) {
        waiters[i] = (struct waiter){.times_ms = {1 + i * 37 % MANY}, .count = 1};
        begin_waiting(&waiters[i]);
        check_case();
    }
    for (int ms = 1; ms <= MANY; ms++) {
        let_pass(MS, PARK);
        for (int i = 0; i < MANY; i++)
            CHECK(waiters[i].over == (waiters[i].times_ms[0] <= ms), PARK,
                  "after %d ms the wait of a coroutine for %d ms %s", ms, waiters[i].times_ms[0],
                  waiters[i].over ? "is over" : "is not over");
    }
    co_case_end();
}

static void parks(void)
{
    until_the_time_is_over();
    woken_before_that();
    many_at_a_time();
}

/* Asleep */

static void woken_in_between(void)
{
    for (int wakes = 0; wakes < 4; wakes++) {
        struct waiter w = {.sleeps = true, .times_ms = {WAIT_MS}, .count = 1};
        begin_case();
        fake_clock_us +=
            MS - fake_clock_us % MS + 900; /* late in its millisecond, woken early in another */
        begin_waiting(&w);
        int64_t end_us = fake_clock_us + WAIT_MS * MS;
        for (int i = 0; i < wakes; i++) {
            let_pass(10 * MS + (i == 0 ? 200 : (int64_t)check_below(200)), SLEEP);
            wake(&w, SLEEP);
            expect_over(&w, 0, SLEEP);
        }
        let_pass(end_us - 1 - fake_clock_us, SLEEP);
        expect_over(&w, 0, SLEEP);
        if (wakes > 0) {
            wake(&w, SLEEP);
            let_pass(0, SLEEP);
            expect_over(&w, 0, SLEEP);
        }
        let_pass(1 + (wakes > 0 ? ROUNDED_US : 0), SLEEP);
        expect_result(&w, 0, CO_LATE, SLEEP);
        expect_no_timer(SLEEP);
        co_case_end();
    }
}

/* Its time ends between co_wake and its turn, as when another coroutine runs for long before it. */
static void woken_too_late(void)
{
    struct waiter w = {.sleeps = true, .times_ms = {WAIT_MS}, .count = 1};
    begin_case();
    begin_waiting(&w);
    let_pass(MS, SLEEP);
    expect_over(&w, 0, SLEEP);
    check_step("calls co_wake()");
    co_wake(w.co);
    fake_clock_advance(WAIT_MS * MS + ROUNDED_US);
    check_step("calls co_run()");
    co_run(co_case_scheduler);
    let_pass(ROUNDED_US, SLEEP);
    expect_result(&w, 0, CO_LATE, SLEEP);
    expect_no_timer(SLEEP);
    co_case_end();
}

static void sleeps(void)
{
    woken_in_between();
    woken_too_late();
}

/* Cancelled */

static void cancel(struct waiter *w)
{
    check_step("calls co_cancel()");
    co_cancel(w->co);
}

/* In one of its waits, or before the first. */
static void cancelled(bool sleep, int first_ms, bool begun)
{
    struct waiter w = {.sleeps = sleep, .times_ms = {first_ms, LONG_MS, 0, 1}, .count = 4};
    begin_case();
    if (begun) {
        begin_waiting(&w);
        let_pass(MS, CANCEL);
    } else {
        w.co = co_case_start("waits", wait_often, &w);
    }
    expect_over(&w, 0, CANCEL);
    cancel(&w);
    expect_over(&w, 0, CANCEL);
    cancel(&w);
    co_case_run();
    for (int i = 0; i < w.count; i++)
        expect_result(&w, i, CO_CANCELLED, CANCEL);
    CHECK(w.co == NULL, CANCEL, "the coroutine has not finished");
    expect_no_timer(CANCEL);
    co_case_run_all(CANCEL);
    co_case_end();
}

static void cancels(void)
{
    check_step("calls co_cancel(NULL)");
    co_cancel(NULL);
    for (int begun = 0; begun < 2; begun++) {
        cancelled(false, -1, begun);
        cancelled(false, LONG_MS, begun);
        cancelled(true, LONG_MS, begun);
    }
    /* The time is over, and it is cancelled before it goes on. */
    struct waiter w = {.times_ms = {WAIT_MS, LONG_MS}, .count = 2};
    begin_case();
    begin_waiting(&w);
    fake_clock_advance(WAIT_MS * MS);
    check_step("calls timers_run()");
    timers_run(co_case_timers);
    cancel(&w);
    co_case_run_all(CANCEL);
    expect_result(&w, 1, CO_CANCELLED, CANCEL);
    expect_no_timer(CANCEL);
    co_case_end();
}

const struct check checks[] = {
    {"parks", parks},
    {"sleeps", sleeps},
    {"cancels", cancels},
    {0},
};

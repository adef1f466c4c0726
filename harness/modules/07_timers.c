/* Timers beside an array that says when each of them has to be called: whatever is done to them,
 * they are called in their order, at their time. And what they cost.
 * links: timers.c */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fake_clock.h"
#include "timers.h"

#define DUE       "timer-due-first"
#define AT_ONCE   "timers-at-once"
#define TIMEOUT   "timer-timeout"
#define ROUNDS    "timer-rounds"
#define ORDER     "timer-order"
#define REMOVAL   "timer-removal"
#define START     "timer-start"
#define CANCELLED "timer-cancelled"

enum {
    PROBES_MAX = 1000,
    SMALL = 20,
    CASES = 40, /* of each small number of timers */
    STEPS = 30,
    LONGEST_MS = 8,
    ROUND_MS = 10, /* and more: no round is missed by chance */
    LATER_COUNT = 3 * TIMERS_AT_ONCE - 100,
    TELL_AGAIN = 5000 /* else the grader would take slow for stuck */
};

/* What is done to the timers in a case; IN_CALLS: also by their callbacks. All may be EQUAL when the
 * case begins, and timers_timeout() may be asked. */
enum { SET = 1, EVERY = 2, CANCEL = 4, RESET = 8, OPERATIONS = 4 };
enum { IN_CALLS = 16, TIMEOUTS = 32, EQUAL = 64 };

/* A timer, and what it should do. */
struct probe {
    struct timer timer;
    bool waits, recurring;
    bool next_turn; /* it was set by a call: it is not due before the next timers_run() */
    int64_t due_us, delay_us;
    uint64_t order;     /* in which it was set */
    void (*then)(void); /* what it does when it is called; NULL: nothing more */
};

static struct timers *timers;
static struct probe probes[PROBES_MAX];
static size_t count;
static unsigned allowed;  /* of the case: what may be done */
static const char *wrong; /* the hint for what is called too early, too late, or not */
static bool running;      /* we are in a call of timers_run() */
static uint64_t next_order;
static int64_t begin_us;

static double at_ms(int64_t us)
{
    return (double)(us - begin_us) / MS;
}

static int number_of(const struct probe *probe)
{
    return (int)(probe - probes);
}

/* The one that is due first, by now or by the time that is given. NULL: none. */
static struct probe *first_due(int64_t by_us)
{
    struct probe *first = NULL;
    for (struct probe *probe = probes; probe < probes + count; probe++)
        if (probe->waits && !probe->next_turn && probe->due_us <= by_us &&
            (first == NULL || probe->due_us < first->due_us ||
             (probe->due_us == first->due_us && probe->order < first->order)))
            first = probe;
    return first;
}

static void expect_due(struct probe *probe, int64_t start_us, int64_t delay_us)
{
    probe->waits = true;
    probe->next_turn = running;
    probe->delay_us = delay_us;
    probe->due_us = start_us + delay_us;
    probe->order = next_order++;
}

static void on_call(struct timer *timer, void *context)
{
    struct probe *probe = context, *first = first_due(fake_clock_us);
    int number = number_of(probe);
    CHECK(timer == &probe->timer, wrong, "timer %d was called with the pointer of another", number);
    CHECK(probe->waits, wrong, "timer %d was called, but it is not set", number);
    CHECK(!probe->next_turn, wrong, "timer %d was called by the timers_run() in which it was set",
          number);
    CHECK(probe->due_us <= fake_clock_us, "timer-early",
          "timer %d was called at %.3f ms, due at %.3f", number, at_ms(fake_clock_us),
          at_ms(probe->due_us));
    bool together = probe->due_us == first->due_us && (probe->recurring || first->recurring);
    CHECK(probe == first || together, wrong,
          "timer %d, due at %.3f ms, was called before timer %d, due at %.3f", number,
          at_ms(probe->due_us), number_of(first), at_ms(first->due_us));
    probe->waits = false;
    if (probe->recurring)
        expect_due(probe, probe->due_us, probe->delay_us);
    if (probe->then != NULL)
        probe->then();
}

static void end_case(void)
{
    if (timers != NULL)
        timers_free(timers);
    timers = NULL;
}

static void begin_case(const char *hint, size_t probe_count, unsigned operations)
{
    end_case();
    check_case();
    timers = timers_new();
    if (timers == NULL)
        check_impossible("no memory for timers");
    fake_clock_begin();
    begin_us = fake_clock_us;
    wrong = hint;
    count = probe_count;
    allowed = operations;
    memset(probes, 0, sizeof probes);
    for (size_t i = 0; i < count; i++)
        probes[i].timer = (struct timer){.call = on_call, .context = &probes[i]};
}

/* Operations, on a timer and in the array */

static void set(struct probe *probe, int32_t ms, bool recurring)
{
    check_step("calls timer_set() for timer %d, %s%" PRId32 " ms", number_of(probe),
               recurring ? "every " : "", ms);
    if (!timer_set(timers, &probe->timer, ms, recurring))
        check_impossible("no memory for a timer");
    probe->recurring = recurring;
    expect_due(probe, fake_clock_us, (int64_t)ms * MS);
}

static void cancel(struct probe *probe)
{
    check_step("calls timer_cancel() for timer %d", number_of(probe));
    bool was_set = timer_cancel(timers, &probe->timer);
    CHECK(was_set == probe->waits, CANCELLED, "timer_cancel() returned %s, but the timer was %s",
          was_set ? "true" : "false", probe->waits ? "set" : "not set");
    probe->waits = false;
}

static void reset(struct probe *probe, int32_t ms, bool from_now)
{
    int64_t start_us = from_now ? fake_clock_us : probe->due_us - probe->delay_us;
    check_step("calls timer_reset() for timer %d, %" PRId32 " ms from %s", number_of(probe), ms,
               from_now ? "now" : "its last start");
    bool was_set = timer_reset(timers, &probe->timer, ms, from_now);
    CHECK(was_set == probe->waits, START, "timer_reset() returned %s, but the timer was %s",
          was_set ? "true" : "false", probe->waits ? "set" : "not set");
    if (was_set)
        expect_due(probe, start_us, (int64_t)ms * MS);
}

static void some_operation(void)
{
    struct probe *probe = &probes[check_below(count)];
    int32_t ms = (int32_t)check_below(LONGEST_MS);
    unsigned operation;
    do
        operation = 1U << check_below(OPERATIONS);
    while (!(allowed & operation));
    if (operation == CANCEL)
        cancel(probe);
    else if (operation != RESET)
        set(probe, operation == EVERY ? ROUND_MS + ms : ms, operation == EVERY);
    else if (probe->recurring) /* after a missed round there is more than one right time */
        reset(probe, ROUND_MS + ms,
              probe->due_us - probe->delay_us + ROUND_MS * MS < fake_clock_us);
    else
        reset(probe, 3 * ms, check_below(2));
}

/* One is due and was not called. If its deadline is now, a server may take that for too early. */
static void fail_uncalled(const struct probe *left)
{
    double due_ms = at_ms(left->due_us);
    bool is_now = left->due_us == fake_clock_us;
    fake_clock_us++;
    timers_run(timers);
    if (is_now && !left->waits)
        check_fail("timer-due-now",
                   "timer %d, due at %.3f ms, was not called at that time, but a microsecond later",
                   number_of(left), due_ms);
    check_fail(wrong, "timer %d, due at %.3f ms, was not called", number_of(left), due_ms);
}

static void expect_timeout(int ms)
{
    check_step("calls timers_timeout()");
    int timeout = timers_timeout(timers);
    CHECK(timeout == ms, TIMEOUT, "timers_timeout() returned %d instead of %d", timeout, ms);
}

/* Runs those that are due. What their calls set is due by the next run. */
static void run(void)
{
    check_step("calls timers_run(), at %.3f ms", at_ms(fake_clock_us));
    running = true;
    timers_run(timers);
    running = false;
    const struct probe *left = first_due(fake_clock_us);
    if (left != NULL)
        fail_uncalled(left);
    for (size_t i = 0; i < count; i++) {
        probes[i].next_turn = false;
        CHECK(timer_is_set(&probes[i].timer) == probes[i].waits, CANCELLED,
              "timer %zu %s, and timer_is_set() returned the opposite", i,
              probes[i].waits ? "waits" : "was called or cancelled");
    }
    if (!(allowed & TIMEOUTS))
        return;
    const struct probe *next = first_due(INT64_MAX);
    int64_t left_us = next == NULL ? 0 : next->due_us - fake_clock_us;
    expect_timeout(next == NULL ? -1 : (int)((left_us + MS - 1) / MS));
}

/* Time goes on: up to the next deadline, to the last microsecond before it, or by chance. */
static void let_pass(void)
{
    const struct probe *next = first_due(INT64_MAX);
    int64_t us = next == NULL ? MS : next->due_us - fake_clock_us - (int64_t)check_below(2);
    if (us < 0 || us > LONGEST_MS * MS || check_below(3) == 0)
        us = (int64_t)check_below(LONGEST_MS * MS);
    fake_clock_advance(us);
}

/* Timers come and go, and then all that are left are called. */
static void walk(const char *hint, size_t probe_count, unsigned operations)
{
    begin_case(hint, probe_count, operations);
    for (size_t i = 0; i < count; i++) {
        if (!(allowed & EVERY))
            set(&probes[i], allowed & EQUAL ? 5 : (int32_t)check_below(LONGEST_MS), false);
        if (allowed & IN_CALLS)
            probes[i].then = some_operation;
        if (!(allowed & EQUAL) && check_below(3) == 0)
            fake_clock_us += (int64_t)check_below(MS / count + 2);
    }
    for (size_t i = 0; i < (count > SMALL ? count / 2 : STEPS) && allowed % IN_CALLS != 0; i++) {
        some_operation();
        if (check_below(4) == 0) {
            let_pass();
            run();
        }
    }
    for (size_t i = 0; i < count; i++)
        probes[i].then = NULL;
    for (int turns = 0; turns < 2 * STEPS || (first_due(INT64_MAX) && !(allowed & EVERY));
         turns++) {
        let_pass();
        run();
    }
}

/* The smallest case that goes wrong is found first. */
static void walks(const char *hint, size_t most, unsigned operations)
{
    for (size_t probe_count = 1; probe_count <= SMALL && probe_count <= most; probe_count++)
        for (int i = 0; i < CASES; i++)
            walk(hint, probe_count, operations);
    if (most > SMALL)
        walk(hint, most, operations);
    end_case();
}

static void order(void)
{
    walks(ORDER, PROBES_MAX, 0);
}

static void equal(void)
{
    walks(ORDER, PROBES_MAX, EQUAL);
}

static void cancelling(void)
{
    walks(REMOVAL, PROBES_MAX, SET | CANCEL);
}

static void resets(void)
{
    walks(START, SMALL, SET | RESET);
    walks(START, 1, EVERY | RESET);
}

static void count_call(struct timer *timer, void *context)
{
    ++*(int *)context;
}

/* After rounds that were missed there are as many calls as rounds from now on, and no more. */
static void rounds(void)
{
    int calls = 0;
    struct timer timer = {.call = count_call, .context = &calls};
    walks(ROUNDS, 1, EVERY);
    walks(ROUNDS, 1, EVERY | CANCEL | IN_CALLS);
    begin_case(ROUNDS, 0, 0);
    check_step("calls timer_set() every %d ms, and timers_run() after more than five", ROUND_MS);
    if (!timer_set(timers, &timer, ROUND_MS, true))
        check_impossible("no memory for a timer");
    fake_clock_advance((5 * ROUND_MS + 2) * MS);
    timers_run(timers);
    CHECK(calls == 1, ROUNDS, "the timer was called %d times", calls);
    for (int i = 0; i < 3 * ROUND_MS; i++) {
        timers_run(timers);
        fake_clock_advance(MS);
        timers_run(timers);
    }
    CHECK(calls == 4, ROUNDS, "there were %d calls in the 3 rounds after the missed ones",
          calls - 1);
    end_case();
}

static void due(void)
{
    walks(DUE, SMALL, SET | CANCEL | IN_CALLS);
}

static void timeouts(void)
{
    static const struct {
        int32_t ms;
        int64_t gone_us;
        int due_ms;
    } table[] = {
        {10, 0, 10},
        {10, 1, 10},
        {10, 1000, 9},
        {10, 1001, 9},
        {10, 10 * MS - 1, 1},
        {10, 10 * MS, 0},
        {10, (int64_t)3600 * 1000 * MS, 0},
        {TIMER_MAX_MS, 0, INT_MAX},
        {TIMER_MAX_MS, 1, INT_MAX},
        {TIMER_MAX_MS, MS, INT_MAX - 1},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        begin_case(TIMEOUT, 1, 0);
        expect_timeout(-1);
        set(&probes[0], table[i].ms, false);
        fake_clock_advance(table[i].gone_us);
        expect_timeout(table[i].due_ms);
        cancel(&probes[0]);
        expect_timeout(-1);
    }
    walks(TIMEOUT, SMALL, SET | CANCEL | TIMEOUTS);
}

/* More of them than one run calls */

static struct timer later_timers[LATER_COUNT];
static int later_calls;

static void on_later(struct timer *timer, void *context)
{
    CHECK(timer == &later_timers[later_calls], AT_ONCE, "timer %d was called instead of timer %d",
          (int)(timer - later_timers), later_calls);
    later_calls++;
}

static void run_in_turns(bool with_timeouts)
{
    begin_case(AT_ONCE, 0, 0);
    check_step("calls timer_set() for timers 0 to %d, 5 ms", LATER_COUNT - 1);
    for (int i = 0; i < LATER_COUNT; i++) {
        later_timers[i] = (struct timer){.call = on_later};
        if (!timer_set(timers, &later_timers[i], 5, false))
            check_impossible("no memory for a timer");
    }
    fake_clock_advance(5 * MS);
    for (int left = LATER_COUNT; left > 0; left = LATER_COUNT - later_calls) {
        if (with_timeouts)
            expect_timeout(0);
        check_step("calls timers_run(), with %d timers due", left);
        timers_run(timers);
        int calls = left - (LATER_COUNT - later_calls);
        CHECK(calls > 0 && calls <= TIMERS_AT_ONCE, AT_ONCE,
              "timers_run() called %d timers, and not 1 to %d", calls, TIMERS_AT_ONCE);
    }
    check_step("calls timers_run(), with no timer set");
    timers_run(timers);
    if (with_timeouts)
        expect_timeout(-1);
    end_case();
}

static void at_once(void)
{
    run_in_turns(false);
}

static void left_are_due(void)
{
    run_in_turns(true);
}

/* What many timers cost, in steps: set, and cancelled or called */

static void tell(const char *what, long i)
{
    if (i % TELL_AGAIN == 0)
        check_step("%s, timer %ld", what, i);
}

static void cost(void)
{
    long many = check_number("timers");
    int calls = 0;
    bool cancels = check_number("cancels");
    struct timer *all = check_memory((size_t)many * sizeof *all);
    double before = check_steps();
    begin_case(ORDER, 0, 0);
    for (long i = 0; i < many; i++) {
        tell("calls timer_set()", i);
        all[i] = (struct timer){.call = count_call, .context = &calls};
        if (!timer_set(timers, &all[i], (int32_t)check_below(1000), false))
            check_impossible("no memory for a timer");
    }
    for (long i = 0; i < many && cancels; i++) {
        tell("calls timer_cancel()", i);
        timer_cancel(timers, &all[i]);
    }
    for (int ms = 0; ms <= 1000 && !cancels; ms++) {
        tell("calls timers_run()", ms);
        timers_run(timers);
        fake_clock_us += MS;
    }
    if (before >= 0)
        check_value("steps", check_steps() - before);
    end_case();
    free(all);
}

const struct check checks[] = {
    {"order", order},
    {"equal", equal},
    {"due", due},
    {"cancelling", cancelling},
    {"rounds", rounds},
    {"resets", resets},
    {"timeouts", timeouts},
    {"left_are_due", left_are_due},
    {"at_once", at_once},
    {"cost", cost},
    {0},
};

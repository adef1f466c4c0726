/* One timer, round by round: when its rounds end, and what a reset makes of them.
 * links: timers.c */
#include <inttypes.h>

#include "timer_probes.h"

#define ROUNDS "timer-rounds"
#define START  "timer-start"

enum { ROUND_MS = 10, ROUND_COUNT = 20 };

/* Rounds */

static void set_recurring(struct probe *probe, int32_t ms)
{
    check_step("calls timer_set() for timer %d, every %" PRId32 " ms", probe_number(probe), ms);
    if (!timer_set(probe_timers, probe->timer, ms, true))
        check_impossible("no memory for a timer");
}

/* The only timer that is set is called by this run, or not. */
static void run_one(bool called)
{
    int before = timer_probes[0].calls;
    timer_probes[0].due_us = fake_clock_us;
    timer_probes[0].waits = true;
    probes_run();
    int calls = timer_probes[0].calls - before;
    CHECK(!called || calls > 0, ROUNDS, "timer 0 was not called, although its next round is over");
    CHECK(called || calls == 0, ROUNDS, "timer 0 was called, although its next round is not over");
}

/* Each run is late, by less than a round; the next round ends when it would have without that. */
static void late_rounds(void)
{
    probes_begin_case(ROUNDS);
    set_recurring(&timer_probes[0], ROUND_MS);
    int64_t late_us = 0;
    for (int i = 0; i < ROUND_COUNT; i++) {
        fake_clock_advance(ROUND_MS * MS - late_us - 1);
        run_one(false);
        late_us = i % 3 == 2 ? 0 : (int64_t)check_below(ROUND_MS * MS - 1);
        fake_clock_advance(1 + late_us);
        run_one(true);
        run_one(false);
    }
    CHECK(timer_is_set(timer_probes[0].timer), ROUNDS, "timer 0 is not set after its call");
    probe_cancel(&timer_probes[0]);
    fake_clock_advance(3 * ROUND_MS * MS);
    probes_run_all();
}

/* After rounds that were missed there are as many calls as rounds from now on, and no more. */
static void missed_rounds(void)
{
    probes_begin_case(ROUNDS);
    set_recurring(&timer_probes[0], ROUND_MS);
    fake_clock_advance((5 * ROUND_MS + 2) * MS);
    run_one(true);
    int before = timer_probes[0].calls;
    for (int i = 0; i < 3 * ROUND_MS; i++) {
        timer_probes[0].waits = true;
        probes_run();
        fake_clock_advance(MS);
        timer_probes[0].due_us = fake_clock_us;
        timer_probes[0].waits = true;
        probes_run();
    }
    int calls = timer_probes[0].calls - before;
    CHECK(calls == 3, ROUNDS, "there were %d calls in the 3 rounds after the missed ones", calls);
}

static void cancel_itself(struct probe *probe)
{
    probe->waits = true; /* it recurs */
    probe_cancel(probe);
}

static void cancelled_in_a_round(void)
{
    probes_begin_case(ROUNDS);
    set_recurring(&timer_probes[0], ROUND_MS);
    timer_probes[0].then = cancel_itself;
    fake_clock_advance(ROUND_MS * MS);
    run_one(true);
    timer_probes[0].waits = false;
    fake_clock_advance(5 * ROUND_MS * MS);
    probes_run_all();
}

static void rounds(void)
{
    late_rounds();
    missed_rounds();
    cancelled_in_a_round();
    probes_end_case();
}

/* Resets */

static void reset(struct probe *probe, int32_t ms, bool from_now, int64_t due_us)
{
    check_step("calls timer_reset() for timer %d, %" PRId32 " ms from %s", probe_number(probe), ms,
               from_now ? "now" : "its last start");
    CHECK(timer_reset(probe_timers, probe->timer, ms, from_now), START,
          "timer_reset() returned false, but the timer is set");
    probe_expect_due(probe, due_us);
}

/* It is not called before its time, and then it is. */
static void expect_call_at(struct probe *probe, int64_t us)
{
    if (us > fake_clock_us) {
        fake_clock_advance(us - fake_clock_us - 1);
        probes_run_all();
        fake_clock_advance(1);
    }
    probes_run_all();
    CHECK(!probe->waits, START, "timer %d was not called", probe_number(probe));
}

static void one_reset(int32_t ms, bool from_now)
{
    probes_begin_case(START);
    probe_set(&timer_probes[1], 90);
    probe_set(&timer_probes[0], 100);
    probe_set(&timer_probes[2], 110);
    fake_clock_advance(30 * MS);
    int64_t due_us = (from_now ? fake_clock_us : probe_begin_us) + ms * MS;
    reset(&timer_probes[0], ms, from_now, due_us);
    expect_call_at(&timer_probes[0], due_us);
    CHECK(!timer_reset(probe_timers, timer_probes[0].timer, 5, from_now), START,
          "timer_reset() returned true, but the timer was no longer set");
}

/* The second counts from the same start as the first, or from what the first has made the start. */
static void two_resets(bool from_now)
{
    probes_begin_case(START);
    probe_set(&timer_probes[0], 100);
    fake_clock_advance(30 * MS);
    int64_t start_us = from_now ? fake_clock_us : probe_begin_us;
    reset(&timer_probes[0], 200, from_now, start_us + 200 * MS);
    fake_clock_advance(15 * MS);
    reset(&timer_probes[0], 60, false, start_us + 60 * MS);
    expect_call_at(&timer_probes[0], start_us + 60 * MS);
}

/* The start of a round is the end of the one before; and the rounds to come have the new length. */
static void reset_in_a_round(bool from_now)
{
    probes_begin_case(START);
    set_recurring(&timer_probes[0], 20);
    probe_expect_due(&timer_probes[0], fake_clock_us + 20 * MS);
    expect_call_at(&timer_probes[0], fake_clock_us + 20 * MS);
    probe_expect_due(&timer_probes[0], fake_clock_us + 20 * MS);
    expect_call_at(&timer_probes[0], fake_clock_us + 20 * MS);
    int64_t start_us = fake_clock_us;
    fake_clock_advance(5 * MS);
    start_us = from_now ? fake_clock_us : start_us;
    reset(&timer_probes[0], 50, from_now, start_us + 50 * MS);
    for (int i = 1; i <= 3; i++) {
        expect_call_at(&timer_probes[0], start_us + i * 50 * MS);
        probe_expect_due(&timer_probes[0], start_us + (i + 1) * 50 * MS);
    }
}

static void resets(void)
{
    static const int32_t TIMES_MS[] = {50, 150, 95, 10, 30, 0, 100, 115};
    for (size_t i = 0; i < sizeof TIMES_MS / sizeof *TIMES_MS; i++)
        for (int from_now = 0; from_now < 2; from_now++)
            one_reset(TIMES_MS[i], from_now);
    for (int from_now = 0; from_now < 2; from_now++) {
        two_resets(from_now);
        reset_in_a_round(from_now);
    }
    probes_end_case();
}

const struct check checks[] = {
    {"rounds", rounds},
    {"resets", resets},
    {0},
};

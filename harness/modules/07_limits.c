/* The idle time-out of a connection: what moves its timer, and when it is over.
 * links: limits.c timers.c */
#include "check.h"
#include "fake_clock.h"
#include "limits.h"

#define MOVED "idle-timer-moved"
#define OVER  "idle-timeout"

enum { IDLE_MS = 1000, ROUNDS = 20, READS = 50, READ_MS = IDLE_MS / READS };

static struct timers *timers;
static struct timeouts *timeouts;
static int calls;

static void on_idle(struct timer *timer, void *context)
{
    CHECK(context == &calls, OVER, "the callback was called with another context");
    calls++;
}

static void on_frame(struct timer *timer, void *context)
{
    check_fail(OVER, "the callback of the frame time-out was called");
}

static void begin(void)
{
    check_case();
    fake_clock_begin();
    calls = 0;
    timers = timers_new();
    timeouts = timers != NULL ? timeouts_new(timers, IDLE_MS, 0, on_idle, on_frame, &calls) : NULL;
    if (timeouts == NULL)
        check_impossible("no memory");
    check_step("calls timeouts_traffic() for an idle time of %d ms", IDLE_MS);
    timeouts_traffic(timeouts);
}

static void end(void)
{
    timeouts_free(timeouts);
    CHECK(timers_timeout(timers) == -1, OVER, "timeouts_free() has left a timer set");
    timers_free(timers);
}

static void pass(int ms)
{
    fake_clock_advance((int64_t)ms * MS);
    timers_run(timers);
}

/* Bytes move READS times while the timer waits; then for as long as it takes, nothing moves. */
static void moves(void)
{
    begin();
    int moved = 0;
    check_step("calls timeouts_traffic() every %d ms, for %d ms", READ_MS, ROUNDS * IDLE_MS);
    for (int i = 0; i < ROUNDS * READS; i++) {
        int before = timers_timeout(timers);
        CHECK(before > 0, OVER, "no timer is set, or one is due at once");
        timeouts_traffic(timeouts);
        moved += timers_timeout(timers) != before;
        pass(READ_MS);
        CHECK(calls == 0, OVER, "the callback was called %d ms after bytes moved", READ_MS);
    }
    CHECK(moved == 0, MOVED, "%d of %d calls of timeouts_traffic() have moved the timer", moved,
          ROUNDS * READS);
    end();
}

/* It is over one idle time after the last byte, at once when that time has passed. */
static void over(int before_ms)
{
    begin();
    pass(before_ms);
    CHECK(calls == 0, OVER, "the callback was called after %d ms", before_ms);
    check_step("calls timeouts_traffic() again after %d ms", before_ms);
    timeouts_traffic(timeouts);
    for (int ms = 1; ms < IDLE_MS; ms++) {
        pass(1);
        CHECK(calls == 0, OVER, "the callback was called %d ms after the last byte", ms);
    }
    pass(1);
    CHECK(calls == 1, OVER, "the callback was not called %d ms after the last byte", IDLE_MS);
    pass(2 * IDLE_MS);
    CHECK(calls == 1, OVER, "the callback was called again");
    end();
}

static void idle(void)
{
    over(0);
    over(1);
    over(IDLE_MS / 3);
    over(IDLE_MS - 1);
    moves();
}

const struct check checks[] = {
    {"idle", idle},
    {0},
};

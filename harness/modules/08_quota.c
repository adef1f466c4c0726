/* The quota of a connection: how its frames are counted, and when its interval begins and ends.
 * links: limits.c */
#include <string.h>

#include "check.h"
#include "limits.h"

#define KEPT  "quota-kept"
#define TIMER "quota-timer"

enum { FRAMES = 5, INTERVAL_MS = 100 };

/* The timers of the quota: what was set is noted, and is due when the check says so. */
static struct {
    int count; /* calls of timer_set() */
    int32_t ms;
    bool recurring, is_set, refused;
} seen;

bool timer_set(struct timers *t, struct timer *timer, int32_t ms, bool recurring)
{
    seen.count++;
    if (seen.refused)
        return false;
    seen.ms = ms;
    seen.recurring = recurring;
    seen.is_set = true;
    return true;
}

bool timer_set_since_due(struct timers *t, struct timer *timer, int32_t ms, bool recurring)
{
    return timer_set(t, timer, ms, recurring);
}

bool timer_reset(struct timers *t, struct timer *timer, int32_t ms, bool from_now)
{
    return seen.is_set && timer_set(t, timer, ms, seen.recurring);
}

bool timer_cancel(struct timers *t, struct timer *timer)
{
    bool before = seen.is_set;
    seen.is_set = false;
    return before;
}

bool timer_is_set(const struct timer *timer)
{
    return seen.is_set;
}

static struct quota *quota;

static void on_end(struct timer *timer, void *context)
{
    check_impossible("the timer is none that could be due");
}

static void begin(void)
{
    check_case();
    memset(&seen, 0, sizeof seen);
    check_step("calls quota_new() for %d frames in %d ms", FRAMES, INTERVAL_MS);
    quota = quota_new(NULL, FRAMES, INTERVAL_MS, on_end, NULL);
    if (quota == NULL)
        check_impossible("no memory");
}

static void take(size_t frames)
{
    check_step("calls quota_take() for %zu frames", frames);
    quota_take(quota, frames);
}

static void expect_left(size_t due, const char *hint)
{
    size_t left = quota_left(quota);
    CHECK(left == due, hint, "quota_left() returned %zu; due is %zu", left, due);
}

/* The end of the interval. */
static void renew(void)
{
    check_step("lets the interval end, and calls quota_renew()");
    seen.is_set = false;
    quota_renew(quota);
}

static void counts(void)
{
    begin();
    expect_left(FRAMES, KEPT);
    CHECK(seen.count == 0, KEPT, "a timer was set before a frame was taken");
    take(2);
    expect_left(FRAMES - 2, KEPT);
    take(FRAMES - 2);
    expect_left(0, KEPT);
    renew();
    expect_left(FRAMES, KEPT);
    take(1);
    renew();
    expect_left(FRAMES, KEPT);
    quota_free(quota);
}

/* It begins with the first frame, and those that follow do not begin it again. */
static void one_interval(void)
{
    begin();
    for (int i = 0; i < FRAMES; i++)
        take(1);
    CHECK(seen.count > 0, TIMER, "frames were taken, and no timer is set");
    CHECK(seen.count == 1, TIMER,
          "%d frames of one interval were taken, and timer_set() was called %d times", FRAMES,
          seen.count);
    CHECK(seen.ms == INTERVAL_MS, TIMER, "the timer was set for %d ms; due is %d", (int)seen.ms,
          INTERVAL_MS);
    CHECK(
        !seen.recurring, TIMER,
        "the timer is recurring: it wakes the server in each interval, also while no frame comes");
    renew();
    CHECK(!seen.is_set, TIMER, "the interval has ended, no frame was taken, and a timer is set");
    take(1);
    CHECK(seen.count == 2, TIMER, "the next interval has begun, and no timer was set");
    quota_free(quota);
}

/* Without the timer nothing would ever refill the quota. */
static void no_timer(void)
{
    begin();
    seen.refused = true;
    check_step("has timer_set() fail");
    take(FRAMES);
    expect_left(FRAMES, TIMER);
    quota_free(quota);
}

static void no_quota(void)
{
    check_step("calls quota_left() and quota_take() with NULL");
    quota = NULL;
    expect_left(SIZE_MAX, KEPT);
    take(1);
}

const struct check checks[] = {
    {"counts", counts},
    {"one_interval", one_interval},
    {"no_timer", no_timer},
    {"no_quota", no_quota},
    {0},
};

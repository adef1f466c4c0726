/* The order in which coroutines run: the queue of the ready ones, and what is queued there.
 * links: co.c context.c? stack.c timers.c */
#include <string.h>

#include "co_case.h"

#define RUN  "co-run"
#define WAKE "co-wake"

enum { YIELDS = 3, ORDER_MAX = 64 };

static char order[ORDER_MAX]; /* who has run */

static void note_order(char who)
{
    size_t size = strlen(order);
    if (size < ORDER_MAX - 1)
        order[size] = who;
}

static void expect_order(const char *due, const char *hint)
{
    CHECK(strcmp(order, due) == 0, hint, "this call of co_run() ran %s; due is %s",
          *order ? order : "none", *due ? due : "none");
    memset(order, 0, sizeof order);
}

static void yield_often(void *argument)
{
    const char *name = argument;
    for (int i = 0; i < YIELDS; i++) {
        note_order(*name);
        co_yield_now();
    }
}

static struct coroutine *sleeper;

static void sleep_long(void *argument)
{
    const char *name = argument;
    for (int i = 0; i < YIELDS; i++) {
        note_order(*name);
        co_park(-1);
    }
}

static void start_another(void *argument)
{
    const char *name = argument;
    note_order(*name);
    check_step("calls co_start() in a coroutine");
    co_case_start("new", yield_often, "n");
}

static void start_and_wake(void *argument)
{
    start_another(argument);
    check_step("calls co_wake() in a coroutine");
    co_wake(sleeper);
}

static void never_end(void *argument)
{
    bool *stop = argument;
    while (!*stop)
        co_yield_now();
}

static void once(void)
{
    co_case_begin(STACK_BYTES);
    check_step("starts coroutines a, b and c, which yield");
    co_case_start("a", yield_often, "a");
    co_case_start("b", yield_often, "b");
    co_case_start("c", yield_often, "c");
    for (int i = 0; i < YIELDS; i++) {
        CHECK(co_is_ready(co_case_scheduler), RUN,
              "co_is_ready() returned false, but three coroutines are ready");
        co_case_run();
        expect_order("abc", RUN);
    }
    CHECK(co_case_run(), RUN,
          "co_run() returned false, but three coroutines were ready and have finished");
    expect_order("", RUN);
    CHECK(!co_is_ready(co_case_scheduler), RUN,
          "co_is_ready() returned true, but all have finished");
    CHECK(!co_case_run(), RUN, "co_run() returned true, but no coroutine was ready");
    co_case_end();
}

static void started_meanwhile(void)
{
    co_case_begin(STACK_BYTES);
    co_case_start("w", start_another, "w");
    CHECK(co_case_run(), RUN, "co_run() returned false, but a coroutine was ready");
    expect_order("w", RUN);
    for (int i = 0; i < YIELDS; i++) {
        co_case_run();
        expect_order("n", RUN);
    }
    co_case_run_all(RUN);
    expect_order("", RUN);
    co_case_end();
}

static void note_turn(void *argument)
{
    unsigned *turns = argument;
    for (int i = 0; i < 4; i++) {
        turns[i] = co_turn();
        if (i % 2)
            co_yield_now();
    }
}

static void once_a_turn(void)
{
    bool stop = false;
    unsigned turns[4];
    co_case_begin(STACK_BYTES);
    co_case_start("never ends", never_end, &stop);
    co_case_start("notes turns", note_turn, turns);
    for (int i = 0; i < RUNS; i++)
        CHECK(co_case_run(), RUN, "co_run() returned false, but a coroutine was ready");
    CHECK(turns[0] == turns[1] && turns[2] == turns[3] && turns[1] != turns[2], RUN,
          "co_turn() was %u, %u in one call of co_run(), and %u, %u in the next", turns[0],
          turns[1], turns[2], turns[3]);
    stop = true;
    co_case_run_all(RUN);
    co_case_end();
}

static void everybody_once(void)
{
    once();
    started_meanwhile();
    once_a_turn();
}

/* Woken */

static void wake_itself(void *argument)
{
    const char *name = argument;
    note_order(*name);
    co_wake(co_self());
    co_park(-1);
    note_order(*name);
}

static void woken_meanwhile(void)
{
    co_case_begin(STACK_BYTES);
    sleeper = co_case_start("s", sleep_long, "s");
    co_case_run();
    expect_order("s", WAKE);
    CHECK(!co_is_ready(co_case_scheduler), WAKE,
          "co_is_ready() returned true, but the only coroutine is parked");
    CHECK(!co_case_run(), WAKE, "co_run() returned true, but the only coroutine was parked");
    co_case_start("w", start_and_wake, "w");
    CHECK(co_case_run(), WAKE, "co_run() returned false, but a coroutine was ready");
    expect_order("w", WAKE);
    co_case_run();
    expect_order("ns", WAKE);
    co_case_run();
    expect_order("n", WAKE);
    co_wake(sleeper);
    co_case_run_all(WAKE);
    expect_order("ns", WAKE);
    check_step("calls co_wake(), for the last time");
    co_wake(sleeper);
    co_case_run_all(WAKE);
    co_case_end();
}

static void only_the_parked(void)
{
    co_case_begin(STACK_BYTES);
    check_step("calls co_wake(NULL)");
    co_wake(NULL);
    sleeper = co_case_start("s", sleep_long, "s");
    struct coroutine *yields = co_case_start("y", yield_often, "y");
    check_step("calls co_wake() for two coroutines that are ready already");
    co_wake(sleeper);
    co_wake(yields);
    co_case_run();
    expect_order("sy", WAKE);
    check_step("calls co_wake() twice for one that is parked, once for one that is ready");
    co_wake(yields);
    co_wake(sleeper);
    co_wake(sleeper);
    co_case_run();
    expect_order("ys", WAKE);
    struct coroutine *other = co_case_start("o", wake_itself, "o");
    co_case_run();
    expect_order("yo", WAKE);
    co_case_run();
    expect_order("", WAKE);
    co_wake(other);
    co_wake(sleeper);
    co_case_run_all(WAKE);
    expect_order("os", WAKE);
    co_wake(sleeper);
    co_case_run_all(WAKE);
    co_case_end();
}

static void wakes(void)
{
    only_the_parked();
    woken_meanwhile();
}

const struct check checks[] = {
    {"everybody_once", everybody_once},
    {"wakes", wakes},
    {0},
};

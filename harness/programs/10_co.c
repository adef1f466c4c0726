/* Coroutines that run, let others run, and end.
 * links: co.c stack.c timers.c */
#include <stdio.h>

#include "scheduling.h"

#define SWITCH "co-switch"
#define TURN   "co-turn"
#define WAKE   "co-wake"

enum {
    YIELDS = 3,
    DEPTH = 20,
    A_FRAME = 64,
    CROWD = 10000,
    CROWD_STACK = 32 << 10,
    TOLERATED = 20, /* mappings that come and go with malloc */
    ORDER_MAX = 64
};

/* One */

struct note {
    struct coroutine *self;
    struct scheduler *of;
    int runs;
    int ends;
};

static void take_notes(void *argument)
{
    struct note *note = argument;
    note->runs++;
    note->self = co_self();
    note->of = co_scheduler();
    for (int i = 0; i < YIELDS; i++) {
        co_yield_now();
        note->runs++;
    }
    note->ends++;
}

static void runs(void)
{
    struct note note = {0};
    begin_case(STACK_BYTES);
    CHECK(!run(), SWITCH, "co_run() returned true, and there is no coroutine");
    check_step("calls co_start()");
    struct coroutine *co = start("notes", take_notes, &note);
    CHECK(note.runs == 0, SWITCH, "the coroutine ran before co_run() was called");
    for (int i = 1; i <= YIELDS + 1; i++) {
        CHECK(run(), SWITCH, "co_run() returned false, and a coroutine was ready");
        CHECK(note.runs == i, SWITCH,
              "a coroutine calls co_yield_now() in a loop; after %d calls of co_run() its argument "
              "says that it has gone on %d times",
              i, note.runs);
        CHECK(co_self() == NULL, SWITCH, "co_self() is not NULL when co_run() has returned");
        CHECK(note.self == co, SWITCH, "co_self() was another coroutine than the one that ran");
        CHECK(note.of == scheduler, SWITCH, "co_scheduler() was not that of the coroutine");
    }
    CHECK(note.ends == 1, SWITCH, "the function of a coroutine returned %d times", note.ends);
    CHECK(!run(), SWITCH, "co_run() returned true, and the only coroutine has ended");
    end_case();
}

/* Its variables */

/* Goes down so many calls, yields there, and finds in each of them what it has left there. */
static unsigned descend(unsigned seed, int depth)
{
    volatile unsigned frame[A_FRAME];
    for (unsigned i = 0; i < A_FRAME; i++)
        frame[i] = seed + i;
    unsigned below = 0;
    if (depth > 0)
        below = descend(seed + 1, depth - 1);
    else
        co_yield_now();
    for (unsigned i = 0; i < A_FRAME; i++)
        CHECK(frame[i] == seed + i, SWITCH,
              "a variable of a coroutine has another value than before the others ran");
    return below + 1;
}

static int through;

static void go_down(void *argument)
{
    const unsigned *seed = argument;
    for (int i = 0; i < YIELDS; i++)
        CHECK(descend(*seed, DEPTH) == DEPTH + 1, SWITCH,
              "a coroutine has not come back from all its calls");
    through++;
}

static void keep_variables(void)
{
    unsigned seeds[5];
    begin_case(STACK_BYTES);
    check_step("starts coroutines that yield %d calls deep", DEPTH);
    for (unsigned i = 0; i < 5; i++) {
        seeds[i] = 1000000 * i;
        start("deep", go_down, &seeds[i]);
    }
    while (run())
        continue;
    CHECK(through == 5, SWITCH, "of 5 coroutines %d came to their end", through);
    end_case();
}

/* Very many */

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;
    if (maps == NULL)
        check_impossible("no /proc/self/maps: %s", strerror(errno));
    for (int c; (c = getc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

static void be_one_of_many(void *argument)
{
    const int *number = argument;
    volatile int mine = *number;
    for (int i = 0; i < YIELDS; i++) {
        co_yield_now();
        CHECK(mine == *number + i, SWITCH,
              "a variable of coroutine %d of %d has another value than before the others ran",
              *number, CROWD);
        mine++;
    }
    through++;
}

static void crowd(void)
{
    static int numbers[CROWD];
    begin_case(CROWD_STACK);
    int before = mappings();
    check_step("starts %d coroutines", CROWD);
    for (int i = 0; i < CROWD; i++) {
        numbers[i] = i;
        start("one of many", be_one_of_many, &numbers[i]);
    }
    check_step("calls co_run() until nobody is ready");
    while (co_run(scheduler))
        continue;
    CHECK(through == CROWD, SWITCH, "of %d coroutines %d came to their end", CROWD, through);
    int more = mappings() - before;
    CHECK(more <= TOLERATED, "stack-kept",
          "%d coroutines have come and gone, and there are %d mappings more than before", CROWD,
          more);
    end_case();
}

/* In order */

static char order[ORDER_MAX]; /* who has run */

static void note_order(char who)
{
    size_t size = strlen(order);
    if (size < ORDER_MAX - 1)
        order[size] = who;
}

static void expect_order(const char *due, const char *hint)
{
    CHECK(strcmp(order, due) == 0, hint, "in this call of co_run() ran %s; due is %s",
          *order ? order : "nobody", *due ? due : "nobody");
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

static void start_and_wake(void *argument)
{
    const char *name = argument;
    note_order(*name);
    check_step("calls co_start() and co_wake() in a coroutine");
    start("new", yield_often, "n");
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
    begin_case(STACK_BYTES);
    check_step("starts coroutines a, b and c, which yield");
    start("a", yield_often, "a");
    start("b", yield_often, "b");
    start("c", yield_often, "c");
    for (int i = 0; i < YIELDS; i++) {
        CHECK(co_is_ready(scheduler), TURN, "co_is_ready() returned false; three are ready");
        run();
        expect_order("abc", TURN);
    }
    CHECK(run(), TURN, "co_run() returned false, and three were ready, which have ended");
    expect_order("", TURN);
    CHECK(!co_is_ready(scheduler), TURN, "co_is_ready() returned true, and all have ended");
    CHECK(!run(), TURN, "co_run() returned true, and nobody was ready");
    end_case();
}

static void who_gets_ready_meanwhile(void)
{
    begin_case(STACK_BYTES);
    sleeper = start("s", sleep_long, "s");
    run();
    expect_order("s", TURN);
    CHECK(!co_is_ready(scheduler), TURN, "co_is_ready() returned true, and the only one is parked");
    CHECK(!run(), TURN, "co_run() returned true, and the only coroutine was parked");
    start("w", start_and_wake, "w");
    CHECK(run(), TURN, "co_run() returned false, and somebody was ready");
    expect_order("w", TURN);
    run();
    expect_order("ns", TURN);
    run();
    expect_order("n", TURN);
    co_wake(sleeper);
    run_all(TURN);
    expect_order("ns", TURN);
    check_step("calls co_wake(), for the last time");
    co_wake(sleeper);
    run_all(TURN);
    end_case();
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
    begin_case(STACK_BYTES);
    start("never ends", never_end, &stop);
    start("notes turns", note_turn, turns);
    for (int i = 0; i < RUNS; i++)
        CHECK(run(), TURN, "co_run() returned false, and somebody was ready");
    CHECK(turns[0] == turns[1] && turns[2] == turns[3] && turns[1] != turns[2], TURN,
          "co_turn() was %u, %u in one call of co_run(), and %u, %u in the next", turns[0],
          turns[1], turns[2], turns[3]);
    stop = true;
    run_all(TURN);
    end_case();
}

static void everybody_once(void)
{
    once();
    who_gets_ready_meanwhile();
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

static void wakes(void)
{
    begin_case(STACK_BYTES);
    check_step("calls co_wake(NULL)");
    co_wake(NULL);
    sleeper = start("s", sleep_long, "s");
    struct coroutine *yields = start("y", yield_often, "y");
    check_step("calls co_wake() for two coroutines that are ready already");
    co_wake(sleeper);
    co_wake(yields);
    run();
    expect_order("sy", WAKE);
    check_step("calls co_wake() twice for one that is parked, once for one that is ready");
    co_wake(yields);
    co_wake(sleeper);
    co_wake(sleeper);
    run();
    expect_order("ys", WAKE);
    struct coroutine *other = start("o", wake_itself, "o");
    run();
    expect_order("yo", WAKE);
    run();
    expect_order("", WAKE);
    co_wake(other);
    co_wake(sleeper);
    run_all(WAKE);
    expect_order("os", WAKE);
    co_wake(sleeper);
    run_all(WAKE);
    end_case();
}

const struct check checks[] = {
    {"runs", runs},
    {"keep_variables", keep_variables},
    {"crowd", crowd},
    {"everybody_once", everybody_once},
    {"wakes", wakes},
    {0},
};

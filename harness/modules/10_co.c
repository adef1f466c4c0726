/* Coroutines that begin, let others run, and end.
 * links: co.c context.c? stack.c timers.c */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "co_case.h"

#define SWITCH "co-switch"

enum {
    YIELDS = 3,
    DEPTH = 20,
    A_FRAME = 64,
    COROUTINES = 3000,
    SMALL_STACK = 32 << 10,
    TOLERATED = COROUTINES / 10 /* mappings: of stacks that are kept for later, and of malloc */
};

/* One */

struct note {
    struct coroutine *self;
    int runs;
    int ends;
};

static void take_notes(void *argument)
{
    struct note *note = argument;
    note->runs++;
    note->self = co_self();
    for (int i = 0; i < YIELDS; i++) {
        co_yield_now();
        note->runs++;
    }
    note->ends++;
}

static void runs(void)
{
    struct note note = {0};
    co_case_begin(STACK_BYTES);
    CHECK(!co_case_run(), SWITCH, "co_run() returned true, but there is no coroutine");
    check_step("calls co_start()");
    struct coroutine *co = co_case_start("notes", take_notes, &note);
    CHECK(note.runs == 0, SWITCH, "the coroutine ran before co_run() was called");
    for (int i = 1; i <= YIELDS + 1; i++) {
        CHECK(co_case_run(), SWITCH, "co_run() returned false, but a coroutine was ready");
        CHECK(note.runs == i, SWITCH,
              "a coroutine calls co_yield_now() in a loop; after %d calls of co_run() its argument "
              "says that it was resumed %s",
              i, check_times(note.runs));
        CHECK(co_self() == NULL, SWITCH, "co_self() is not NULL after co_run() returned");
        CHECK(note.self == co, SWITCH, "co_self() was not the coroutine that ran");
    }
    CHECK(note.ends == 1, SWITCH, "the function of a coroutine returned %d times", note.ends);
    CHECK(!co_case_run(), SWITCH, "co_run() returned true, but the only coroutine has finished");
    co_case_end();
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
              "a coroutine did not return from all its calls");
    through++;
}

static void keep_variables(void)
{
    unsigned seeds[5];
    co_case_begin(STACK_BYTES);
    check_step("starts coroutines that yield %d calls deep", DEPTH);
    for (unsigned i = 0; i < 5; i++) {
        seeds[i] = 1000000 * i;
        co_case_start("deep", go_down, &seeds[i]);
    }
    while (co_case_run())
        continue;
    CHECK(through == 5, SWITCH, "%d of 5 coroutines finished", through);
    co_case_end();
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
              *number, COROUTINES);
        mine++;
    }
    through++;
}

static void thousands(void)
{
    static int numbers[COROUTINES];
    co_case_begin(SMALL_STACK);
    int before = mappings();
    check_step("starts %d coroutines", COROUTINES);
    for (int i = 0; i < COROUTINES; i++) {
        numbers[i] = i;
        co_case_start("one of many", be_one_of_many, &numbers[i]);
    }
    check_step("calls co_run() until no coroutine is ready");
    while (co_run(co_case_scheduler))
        continue;
    CHECK(through == COROUTINES, SWITCH, "%d of %d coroutines finished", through, COROUTINES);
    int more = mappings() - before;
    CHECK(more <= TOLERATED, "stack-kept",
          "%d coroutines have finished, but there are %d more mappings than before", COROUTINES,
          more);
    co_case_end();
}

const struct check checks[] = {
    {"runs", runs},
    {"keep_variables", keep_variables},
    {"thousands", thousands},
    {0},
};

/* A scheduler, its timers, and coroutines that note what has become of them. */
#ifndef SCHEDULING_H
#define SCHEDULING_H

#include <errno.h>
#include <string.h>

#include "check.h"
#include "co.h"
#include "timers.h"

enum {
    STACK_BYTES = 64 << 10,
    RUNS = 20 /* after which everybody waits who is not to run for ever */
};

static struct timers *timers;
static struct scheduler *scheduler;

/* Begins a case, in which nobody is there yet. */
static inline void begin_case(size_t stack_bytes)
{
    check_case();
    timers = timers_new();
    if (timers == NULL)
        check_impossible("no memory for timers");
    check_step("calls scheduler_new()");
    scheduler = scheduler_new(timers, stack_bytes);
    CHECK(scheduler != NULL, "in-the-module", "scheduler_new() returned NULL");
}

/* Ends it. All coroutines have come to their end. */
static inline void end_case(void)
{
    check_step("calls scheduler_free()");
    scheduler_free(scheduler);
    timers_free(timers);
}

static inline struct coroutine *start(const char *name, co_function *function, void *argument)
{
    struct coroutine *co = co_start(scheduler, name, function, argument);
    CHECK(co != NULL, "co-switch", "co_start() returned NULL: %s", strerror(errno));
    return co;
}

static inline bool run(void)
{
    check_step("calls co_run()");
    return co_run(scheduler);
}

/* Runs until nobody is ready. */
static inline void run_all(const char *hint)
{
    int count = 0;
    check_step("calls co_run() until nobody is ready");
    while (co_run(scheduler))
        CHECK(++count < RUNS, hint, "after %d calls of co_run() somebody is still ready", RUNS);
}

/* What a check has waited for, and how that has ended. */

static inline const char *name_of_result(enum co_result result)
{
    switch (result) {
    case CO_WOKEN:
        return "CO_WOKEN";
    case CO_LATE:
        return "CO_LATE";
    case CO_CANCELLED:
        return "CO_CANCELLED";
    }
    return "a number of no result";
}

#endif

#include "co_case.h"

#include <errno.h>
#include <string.h>

struct timers *co_case_timers;
struct scheduler *co_case_scheduler;

void co_case_begin(size_t stack_bytes)
{
    check_case();
    co_case_timers = timers_new();
    if (co_case_timers == NULL)
        check_impossible("no memory for timers");
    check_step("calls scheduler_new()");
    co_case_scheduler = scheduler_new(co_case_timers, stack_bytes);
    CHECK(co_case_scheduler != NULL, "module-refuses", "scheduler_new() returned NULL");
}

void co_case_end(void)
{
    check_step("calls scheduler_free()");
    scheduler_free(co_case_scheduler);
    timers_free(co_case_timers);
}

struct coroutine *co_case_start(const char *name, co_function *function, void *argument)
{
    struct coroutine *co = co_start(co_case_scheduler, name, function, argument);
    CHECK(co != NULL, "co-switch", "co_start() returned NULL: %s", check_reason());
    return co;
}

/* A scheduler and its timers, in a case of their own. */
#ifndef GRADER_CO_CASE_H
#define GRADER_CO_CASE_H

#include "check.h"
#include "co.h"
#include "timers.h"

enum {
    STACK_BYTES = 64 << 10,
    RUNS = 20 /* after which everybody waits who is not to run for ever */
};

extern struct timers *co_case_timers;
extern struct scheduler *co_case_scheduler;

/* Begins a case, in which nobody is there yet. */
void co_case_begin(size_t stack_bytes);

/* Ends it. All coroutines have come to their end. */
void co_case_end(void);

struct coroutine *co_case_start(const char *name, co_function *function, void *argument);

#endif

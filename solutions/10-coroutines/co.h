/* Coroutines: functions that can stop in the middle, let others go on, and be gone on with later.
 * Each has a stack of its own, so it stops wherever it is, with all its callers.
 *
 * One of them runs at a time in a thread, and goes on until it waits: nothing else happens in
 * between. All of a scheduler's coroutines belong to one thread, the one that calls co_run. What
 * waits here waits for another coroutine, or for a time; co_io.h has those that wait for a
 * descriptor. */
#ifndef CO_H
#define CO_H

#include <stdbool.h>
#include <stddef.h>

#include "timers.h"

struct coroutine;
struct scheduler;

typedef void co_function(void *argument);

/* How a wait has ended. */
enum co_result {
    CO_WOKEN,     /* by co_wake; or for nothing, so look at what you have waited for */
    CO_LATE,      /* the time is over */
    CO_CANCELLED, /* you are to come to an end: no wait will be one any more */
};

/* Coroutines get stacks of that size, and wait for times with these timers, which are borrowed.
 * NULL: no memory. */
struct scheduler *scheduler_new(struct timers *timers, size_t stack_bytes);

/* All its coroutines must have ended. */
void scheduler_free(struct scheduler *s);

/* Starts a coroutine: it runs when co_run is called next. `name` is for messages; what it points to
 * must last. The coroutine is freed when the function returns. NULL: errno has the reason. */
struct coroutine *co_start(struct scheduler *s, const char *name, co_function *function,
                           void *argument);

/* Runs all that are ready now, each until it waits. Who gets ready meanwhile has to wait for the
 * next call. False: nobody was. */
bool co_run(struct scheduler *s);

/* Whether somebody is ready: then the loop must not sleep. */
bool co_is_ready(const struct scheduler *s);

/* The coroutine that runs, NULL outside of any; and its scheduler. */
struct coroutine *co_self(void);
struct scheduler *co_scheduler(void);

/* These three are for coroutines: they wait. */

/* Until co_wake, at most `timeout_ms` (-1: for ever). */
enum co_result co_park(int timeout_ms);

/* Until everybody else who is ready has run. */
void co_yield_now(void);

enum co_result co_sleep(int ms);

/* Makes a coroutine that is parked ready. Nothing happens if it is not, or is NULL. */
void co_wake(struct coroutine *co);

/* Has a coroutine come to its end: its wait, and each one it tries from now on, is CO_CANCELLED. It
 * may be NULL. */
void co_cancel(struct coroutine *co);

/* Counts the calls of co_run: what a coroutine does while it stays the same is one turn. */
unsigned co_turn(void);

/* The name of the coroutine that runs, if it has just used up its stack, by touching this address;
 * and how large that is. NULL: it has not. For a signal handler. */
const char *co_overflowed(const void *address, size_t *stack_bytes);

#endif

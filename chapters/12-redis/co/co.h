/* Coroutines: functions that can stop in the middle, let other code run, and continue later. Each
 * has a stack of its own. So it can stop anywhere, also inside a function that it has called.
 *
 * One coroutine runs at a time in a thread, and it runs until it waits: nothing interrupts it. All
 * coroutines of a scheduler belong to one thread, the one that calls co_run(). The waits declared
 * here are for another coroutine or for a time. co_io.h has the waits for a descriptor. */
#ifndef CO_H
#define CO_H

#include <stdbool.h>
#include <stddef.h>

#include "events/timers.h"

struct coroutine;
struct scheduler;

typedef void co_function(void *argument);

/* How a wait has ended. */
enum co_result {
    CO_WOKEN,     /* by co_wake(). Check your condition again: it may not hold yet */
    CO_LATE,      /* the time is over */
    CO_CANCELLED, /* the coroutine must finish: none of its waits will wait any more */
};

/* Its coroutines get stacks of this size. They wait for times with these timers, which are
 * borrowed. NULL: no memory. */
struct scheduler *scheduler_new(struct timers *timers, size_t stack_bytes);

/* All its coroutines must have ended. */
void scheduler_free(struct scheduler *s);

/* Creates a coroutine. It first runs in the next call of co_run(). It is freed when its function
 * returns. `name` is for messages, and is borrowed. NULL: errno has the reason. */
struct coroutine *co_start(struct scheduler *s, const char *name, co_function *function,
                           void *argument);

/* Runs every coroutine that is ready now, in order, each until it waits. Those that become ready
 * meanwhile run in the next call. False: none was ready. */
bool co_run(struct scheduler *s);

/* Whether a coroutine has not ended yet. */
bool co_any(const struct scheduler *s);

/* Whether a coroutine is ready: then the loop must not sleep. */
bool co_is_ready(const struct scheduler *s);

/* The coroutine that runs, NULL outside of coroutines. */
struct coroutine *co_self(void);

/* Only a coroutine may call the next four: they wait. */

/* Waits until co_wake() is called, at most `timeout_ms` (-1: no limit). */
enum co_result co_park(int timeout_ms);

/* Waits until co_wake() or co_cancel() is called, and even if the coroutine has been cancelled. For
 * what is certain to come soon: the completion of an operation that has been cancelled. */
void co_hold(void);

/* Lets every other coroutine that is ready run first. */
void co_yield_now(void);

/* Waits `ms`. co_wake() does not end this wait. */
enum co_result co_sleep(int ms);

/* Makes a parked coroutine ready. Does nothing if it is not parked, or is NULL. */
void co_wake(struct coroutine *co);

/* Tells a coroutine to finish: its wait, and every wait that it tries later, ends with
 * CO_CANCELLED. Does nothing if it is NULL. */
void co_cancel(struct coroutine *co);

/* The number of the current call of co_run(), which is one iteration of the loop. */
unsigned co_turn(void);

/* If the coroutine that runs has just overflowed its stack by touching `address`: its name, and the
 * size of its stack. Otherwise NULL. Safe in a signal handler. */
const char *co_overflowed(const void *address, size_t *stack_bytes);

#endif

/* An event loop that belongs to one thread: readiness, timers, coroutines, and tasks that
 * other threads queue.
 *
 * Only its own thread touches what a loop serves, so none of that needs a lock. Another thread that
 * wants something done there queues a task, and the loop's thread runs it. */
#ifndef LOOP_H
#define LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "co/co.h"
#include "events/events.h"
#include "events/timers.h"

/* A piece of work. It is part of something larger, which holds what the work needs. */
struct task {
    void (*run)(struct task *task); /* may free the task */
    STAILQ_ENTRY(task) others;      /* its place in the queue, for loop.c */
};

STAILQ_HEAD(task_queue, task);

/* What the tasks of one iteration may do, in bytes: some thousand short messages for clients. */
#define LOOP_BUDGET_BYTES (16u << 20)

struct loop {
    /* Set by loop_init(). The event manager and the timers are for the loop's thread alone, except
     * events_wake(). */
    struct events *events;       /* owned */
    struct timers *timers;       /* owned */
    struct scheduler *scheduler; /* owned */
    int index;                   /* its place among all loops */

    /* For the loop's thread alone. */
    struct task_queue taken; /* from `tasks`, and not yet run */
    size_t budget;           /* what its tasks may still do in this iteration, in bytes */

    /* For all threads. */
    pthread_mutex_t lock;    /* protects `tasks`, and nothing else */
    struct task_queue tasks; /* queued, and not yet taken by the loop's thread */
};

/* Its coroutines get stacks of that size. False: errno has the reason, and there is nothing to
 * free. */
bool loop_init(struct loop *loop, int index, const struct backend *backend, size_t stack_bytes);

/* Its thread must have ended, its queue must be empty, and no coroutine may be left. */
void loop_destroy(struct loop *loop);

/* One iteration: sleeps until there is something to do, and does it. From the first iteration on
 * the loop belongs to the thread that calls this. */
void loop_turn(struct loop *loop);

/* Queues a task, which the loop's thread runs later, and wakes the loop if it has to. Tasks
 * queued by one thread run in the order of these calls. From this call on, the task belongs to
 * the loop's thread: do not touch it any more. From any thread. */
void queue_in_loop(struct loop *loop, struct task *task);

/* The same, but if the caller is the loop's own thread, the task runs before this returns. */
void run_in_loop(struct loop *loop, struct task *task);

/* Runs the tasks that are queued now, without holding the lock, until the budget of an iteration is
 * used up. Those that are left come first in the next call, and tasks that are queued meanwhile
 * after them. False: there was none. By the loop's thread, or after it has ended. */
bool loop_run_tasks(struct loop *loop);

/* To be called by a task: it has done as much as sending so many bytes. */
void loop_spend(struct loop *loop, size_t cost);

#endif

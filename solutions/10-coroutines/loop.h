/* An event loop that belongs to one thread: readiness, timers, coroutines, and work that other
 * threads have for it.
 *
 * What a loop serves, only its thread touches: so nothing of that needs a lock. Who wants something
 * done to it from outside hands in a task, and the loop's thread does it. */
#ifndef LOOP_H
#define LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "co.h"
#include "events.h"
#include "timers.h"

/* A piece of work. It is part of something larger, which holds what the work needs. */
struct task {
    void (*run)(struct task *task); /* may free the task */
    STAILQ_ENTRY(task) others;      /* its place in the line, for loop.c */
};

STAILQ_HEAD(task_queue, task);

struct loop {
    struct events *events;       /* owned */
    struct timers *timers;       /* owned */
    struct scheduler *scheduler; /* owned */
    int index;                   /* of the loop among all */
    pthread_mutex_t lock;        /* of `tasks`, and of nothing else */
    struct task_queue tasks;
};

/* Its coroutines get stacks of that size. False: errno has the reason, and there is nothing to
 * free. */
bool loop_init(struct loop *loop, int index, const struct backend *backend, size_t stack_bytes);

/* No thread may be in it any more, no task in its line, and no coroutine. */
void loop_destroy(struct loop *loop);

/* One turn: sleeps until there is something to do, and does it. The thread that makes the first
 * turn is the loop's own from then on. */
void loop_turn(struct loop *loop);

/* Has a task run by the loop's thread, some time after this call. Tasks of one thread are run in
 * the order in which they came. The task must stay where it is until it is run. From any thread. */
void queue_in_loop(struct loop *loop, struct task *task);

/* The same; but where the caller is the loop's own thread, the task is run before this returns. */
void run_in_loop(struct loop *loop, struct task *task);

/* Runs what is in the line. False: there was nothing. By the loop's thread, or after that has
 * ended. */
bool loop_run_tasks(struct loop *loop);

#endif

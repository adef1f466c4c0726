/* A loop whose sleep is looked at, and tasks that note when they are run, and by whom. */
#ifndef GRADER_WATCHED_LOOP_H
#define GRADER_WATCHED_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "loop.h"

/* What the backend of the loops notes of a sleep; watched_loop_due is for a check to set. */

extern atomic_int watched_loop_waits; /* that have begun, of all loops */
extern atomic_bool watched_loop_due;  /* a task has been queued, and the call for that is over */

/* Makes a loop on that backend. */
void watched_loop_begin(struct loop *loop, int index);

void watched_loop_end(struct loop *loop);

/* An iteration in which it must not sleep: a task is in its queue. */
void watched_loop_turn(struct loop *loop, const char *hint);

/* An iteration in which nothing is due. */
void watched_loop_idle_turn(struct loop *loop);

/* Tasks, and threads that queue them */

struct job {
    struct task task;
    int number;
    int runs;
    pthread_t runner;           /* of the last run */
    void (*then)(struct job *); /* what it does when it is run; NULL: nothing more */
};

/* A task that notes its runs, and then does what `then` says. */
struct job watched_loop_job(int number, void (*then)(struct job *));

/* Has another thread queue the task while the loop sleeps, and makes iterations until it was run.
 * `sleeps_on`: the failure when the loop sleeps on. */
void watched_loop_wake(struct loop *loop, struct job *job, const char *hint, const char *sleeps_on);

#endif

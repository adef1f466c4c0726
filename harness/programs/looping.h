/* A loop whose sleep is looked at, and tasks that note when they are run, and by whom. */
#ifndef LOOPING_H
#define LOOPING_H

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "loop.h"

/* From chapter 10 on a loop has coroutines. */
#if __has_include("co.h")
#define STACK_FOR_EACH , 64 << 10
#else
#define STACK_FOR_EACH
#endif

enum {
    DIRTY = 0x5a,     /* in memory that was freed, or is new, where the library can do that */
    LONGEST_MS = 500, /* of a sleep that should have been ended */
    PAUSE_NS = 20 * 1000 * 1000
};

/* The backend of the loops: it notes how a sleep ends. */

static atomic_int waits;       /* that have begun, of all loops */
static atomic_bool due;        /* a task has been queued, and the call for that is over */
static atomic_bool slept_on;   /* a loop has slept, though a task was due */
static atomic_int sleep_limit; /* ms; 0: LONGEST_MS */

static inline int spied_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    int limit = atomic_load(&sleep_limit);
    limit = limit > 0 ? limit : LONGEST_MS;
    if (timeout_ms < 0 || timeout_ms > limit)
        timeout_ms = limit;
    atomic_fetch_add(&waits, 1);
    int count = backend_epoll.wait(state, ready, max, timeout_ms);
    if (count == 0 && timeout_ms > 0 && atomic_load(&due)) {
        /* It may have become due between the end of the sleep and now: then there are news. */
        count = backend_epoll.wait(state, ready, max, 0);
        if (count == 0)
            atomic_store(&slept_on, true);
    }
    return count;
}

static inline void begin_loop(struct loop *loop, int index)
{
    static struct backend spy;
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    if (index == 0) {
        spy = backend_epoll;
        spy.wait = spied_wait;
    }
    check_step("calls loop_init()");
    CHECK(loop_init(loop, index, &spy STACK_FOR_EACH), "in-the-module",
          "loop_init() returned false: %s", strerror(errno));
}

static inline void end_loop(struct loop *loop)
{
    check_step("calls loop_destroy()");
    loop_destroy(loop);
}

/* A turn in which it has nothing to sleep for: a task is in its line. */
static inline void turn(struct loop *loop, const char *hint)
{
    atomic_store(&due, true);
    check_step("calls loop_turn()");
    loop_turn(loop);
    CHECK(!atomic_load(&slept_on), hint, "loop_turn() slept, and there was a task in the line");
    atomic_store(&due, false);
}

/* A turn in which nothing is due. */
static inline void idle_turn(struct loop *loop)
{
    atomic_store(&sleep_limit, 1);
    check_step("calls loop_turn(), with nothing to do");
    loop_turn(loop);
    atomic_store(&sleep_limit, 0);
}

/* Tasks */

struct job {
    struct task task;
    int number;
    int runs;
    pthread_t runner;           /* of the last run */
    void (*then)(struct job *); /* what it does when it is run; NULL: nothing more */
};

static inline void run_job(struct task *task)
{
    struct job *job = (struct job *)task; /* its first member */
    job->runs++;
    job->runner = pthread_self();
    if (job->then != NULL)
        job->then(job);
}

static inline struct job new_job(int number, void (*then)(struct job *))
{
    return (struct job){.task = {.run = run_job}, .number = number, .then = then};
}

static inline void start(pthread_t *thread, void *(*work)(void *), void *context)
{
    if (pthread_create(thread, NULL, work, context) != 0)
        check_impossible("no thread can be started");
}

static inline void pause_shortly(void)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

#endif

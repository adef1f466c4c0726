#include "watched_loop.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

/* From chapter 10 on a loop has coroutines. */
#if __has_include("co.h")
#define STACK_FOR_EACH , 64 << 10
#else
#define STACK_FOR_EACH
#endif

enum {
    DIRTY = 0x5a,     /* in memory that was freed, or is new, where the library can do that */
    LONGEST_MS = 500, /* of a sleep that should have been ended */
    PAUSE_MS = 20
};

atomic_int watched_loop_waits;
atomic_bool watched_loop_due;
static atomic_bool slept_on;   /* a loop has slept, though a task was due */
static atomic_int sleep_limit; /* ms; 0: LONGEST_MS */

static int spied_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    int limit = atomic_load(&sleep_limit);
    limit = limit > 0 ? limit : LONGEST_MS;
    if (timeout_ms < 0 || timeout_ms > limit)
        timeout_ms = limit;
    atomic_fetch_add(&watched_loop_waits, 1);
    int count = backend_epoll.wait(state, ready, max, timeout_ms);
    if (count == 0 && timeout_ms > 0 && atomic_load(&watched_loop_due)) {
        /* It may have become due between the end of the sleep and now: then it is ready. */
        count = backend_epoll.wait(state, ready, max, 0);
        if (count == 0)
            atomic_store(&slept_on, true);
    }
    return count;
}

void watched_loop_begin(struct loop *loop, int index)
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
    CHECK(loop_init(loop, index, &spy STACK_FOR_EACH), "module-refuses",
          "loop_init() returned false: %s", strerror(errno));
}

void watched_loop_end(struct loop *loop)
{
    check_step("calls loop_destroy()");
    loop_destroy(loop);
}

void watched_loop_turn(struct loop *loop, const char *hint)
{
    atomic_store(&watched_loop_due, true);
    check_step("calls loop_turn()");
    loop_turn(loop);
    CHECK(!atomic_load(&slept_on), hint, "loop_turn() slept, but there was a task in the queue");
    atomic_store(&watched_loop_due, false);
}

void watched_loop_idle_turn(struct loop *loop)
{
    atomic_store(&sleep_limit, 1);
    check_step("calls loop_turn(), with nothing to do");
    loop_turn(loop);
    atomic_store(&sleep_limit, 0);
}

static void run_job(struct task *task)
{
    struct job *job = (struct job *)task; /* its first member */
    job->runs++;
    job->runner = pthread_self();
    if (job->then != NULL)
        job->then(job);
}

struct job watched_loop_job(int number, void (*then)(struct job *))
{
    return (struct job){.task = {.run = run_job}, .number = number, .then = then};
}

static struct loop *sleeper;
static struct job *late_job;

/* Queues a task when the loop sleeps, or is about to. */
static void *queue_late(void *unused)
{
    while (atomic_load(&watched_loop_waits) == 0)
        check_pause(PAUSE_MS);
    check_pause(PAUSE_MS);
    queue_in_loop(sleeper, &late_job->task);
    atomic_store(&watched_loop_due, true);
    return NULL;
}

void watched_loop_wake(struct loop *loop, struct job *job, const char *hint, const char *sleeps_on)
{
    pthread_t thread;
    sleeper = loop;
    late_job = job;
    atomic_store(&watched_loop_waits, 0);
    atomic_store(&watched_loop_due, false);
    check_thread(&thread, queue_late, NULL);
    bool queued;
    do {
        queued = atomic_load(&watched_loop_due);
        loop_turn(loop);
        CHECK(!atomic_load(&slept_on), hint, "%s", sleeps_on);
    } while (!queued && job->runs == 0);
    pthread_join(thread, NULL);
    CHECK(job->runs == 1, hint, "the task was run %d times instead of once", job->runs);
}

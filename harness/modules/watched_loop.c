#include "watched_loop.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* From chapter 10 on a loop has coroutines, and loop.h includes their header. */
#ifdef CO_H
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

/* The backend of these loops: they have no connections, so they watch only what wakes them. */
struct only {
    int fd;
    struct watch *watch;
};

static void *open_backend(void)
{
    struct only *only = check_memory(sizeof *only);
    *only = (struct only){.fd = -1};
    return only;
}

static bool watch_only(void *state, int fd, unsigned interest, struct watch *watch)
{
    struct only *only = state;
    if (only->watch != NULL && only->watch != watch)
        check_impossible("a loop without connections watches two descriptors");
    *only = (struct only){.fd = fd, .watch = watch};
    return true;
}

static void watch_nothing(void *state, int fd)
{
    struct only *only = state;
    *only = (struct only){.fd = -1};
}

static bool watched_wait(void *state, struct events *events, int timeout_ms)
{
    struct only *only = state;
    struct pollfd fd = {.fd = only->fd, .events = POLLIN};
    int limit = atomic_load(&sleep_limit);
    limit = limit > 0 ? limit : LONGEST_MS;
    if (timeout_ms < 0 || timeout_ms > limit)
        timeout_ms = limit;
    atomic_fetch_add(&watched_loop_waits, 1);
    int count = poll(&fd, 1, timeout_ms);
    if (count == 0 && timeout_ms > 0 && atomic_load(&watched_loop_due)) {
        /* It may have become due between the end of the sleep and now: then it is ready. */
        count = poll(&fd, 1, 0);
        if (count == 0)
            atomic_store(&slept_on, true);
    }
    if (count > 0)
        events_report(events, only->watch, EVENT_READ);
    return count >= 0;
}

static const struct backend watched_backend = {
    .name = "watched",
    .open = open_backend,
    .close = free,
    .add = watch_only,
    .set = watch_only,
    .del = watch_nothing,
    .wait = watched_wait,
};

void watched_loop_begin(struct loop *loop, int index)
{
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    check_step("calls loop_init()");
    CHECK(loop_init(loop, index, &watched_backend STACK_FOR_EACH), "module-refuses",
          "loop_init() returned false: %s", check_reason());
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

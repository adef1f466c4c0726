/* Tasks that are queued into a loop, by its own thread or by others, and when they are run; and
 * counts that many threads add to.
 * links: stats.c loop.c events.c timers.c backend_poll.c log.c co.c? stack.c? */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop_job.h"
#include "server/stats.h"

#define RUN   "tasks-run"
#define LOCK  "task-lock"
#define OWN   "task-thread"
#define LEFT  "task-budget"
#define ORDER "task-order"

enum { THREADS = 4, STORM = 3000, MANY = 1000, SOME = 3, A_FEW = 10, PAUSE_MS = 20 };

static struct loop loop, second;
static int ran; /* tasks */
static atomic_int writes;

/* Replaces that of the C library, and goes on to the kernel: a wake-up is a write(). */
ssize_t write(int fd, const void *data, size_t size)
{
    atomic_fetch_add(&writes, 1);
    return syscall(SYS_write, fd, data, size);
}

/* An iteration that does not sleep, whatever is queued. */
static void turn(struct loop *one)
{
    check_step("calls loop_turn()");
    events_wake(one->events);
    loop_turn(one);
}

static void expect_next(struct job *job)
{
    CHECK(job->number == ran, ORDER, "task %d was run before task %d", job->number, ran);
    ran++;
}

static void queue_jobs(struct job *jobs, int count, void (*then)(struct job *))
{
    check_step("calls queue_in_loop() for %d tasks", count);
    for (int i = 0; i < count; i++) {
        jobs[i] = job_new(i, then);
        queue_in_loop(&loop, &jobs[i].task);
    }
}

/* Queueing */

static void one_wake_for_many(void)
{
    static struct job jobs[MANY];
    loop_begin(&loop, 0);
    atomic_store(&writes, 0);
    queue_jobs(jobs, MANY, expect_next);
    int made = atomic_load(&writes);
    CHECK(made <= A_FEW, "one-wake",
          "%d tasks, queued before the next iteration, caused %d wake-ups", MANY, made);
}

static void in_their_order(void)
{
    struct job jobs[SOME];
    loop_begin(&loop, 0);
    queue_jobs(jobs, SOME, expect_next);
    check_step("calls loop_run_tasks(), until it returns false");
    while (loop_run_tasks(&loop))
        continue;
    CHECK(ran == SOME, RUN, "%d of %d tasks were run", ran, SOME);
}

/* Many threads at a time */

static struct job storm[THREADS][STORM];
static bool meanwhile;     /* the second half comes when the loop has run some of the first */
static atomic_int through; /* threads that have queued all theirs */
static atomic_bool begun;  /* tasks are being run. Relaxed: it puts nothing in order */

static void expect_in_order(struct job *job)
{
    static int next[THREADS];
    int thread = job->number / STORM, number = job->number % STORM;
    CHECK(number == next[thread], RUN, "task %d of thread %d was run instead of its task %d",
          number, thread, next[thread]);
    next[thread]++;
    ran++;
    atomic_store_explicit(&begun, true, memory_order_relaxed);
}

static void *queue_all(void *context)
{
    struct job *mine = context;
    for (int i = 0; i < STORM; i++) {
        while (meanwhile && i == STORM / 2 && !atomic_load_explicit(&begun, memory_order_relaxed))
            check_pause(PAUSE_MS);
        queue_in_loop(&loop, &mine[i].task);
    }
    atomic_fetch_add(&through, 1);
    return NULL;
}

static void start_all(pthread_t threads[THREADS])
{
    loop_begin(&loop, 0);
    check_step("calls queue_in_loop() %d times in each of %d threads", STORM, THREADS);
    for (int i = 0; i < THREADS; i++) {
        for (int number = 0; number < STORM; number++)
            storm[i][number] = job_new(i * STORM + number, expect_in_order);
        check_thread(&threads[i], queue_all, storm[i]);
    }
}

/* The loop does nothing meanwhile. */
static void queued_by_many(void)
{
    pthread_t threads[THREADS];
    struct task *task;
    int count = 0;
    start_all(threads);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    STAILQ_FOREACH (task, &loop.tasks, others)
        count++;
    CHECK(count == THREADS * STORM, ORDER, "%d tasks were queued, and %d are in the queue",
          THREADS * STORM, count);
}

static void run_meanwhile(void)
{
    pthread_t threads[THREADS];
    meanwhile = true;
    start_all(threads);
    check_step("calls loop_turn(), again and again");
    while (ran < THREADS * STORM) {
        bool all = atomic_load(&through) == THREADS;
        events_wake(loop.events);
        loop_turn(&loop);
        CHECK(!all || ran == THREADS * STORM, RUN,
              "%d tasks were queued, and one iteration later %d had not been run", THREADS * STORM,
              THREADS * STORM - ran);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* What is run in an iteration */

static void count(struct job *job)
{
    ran++;
}

static void all_are_run(void)
{
    static struct job jobs[MANY];
    loop_begin(&loop, 0);
    CHECK(!loop_run_tasks(&loop), RUN, "loop_run_tasks() returned true, but the queue was empty");
    queue_jobs(jobs, MANY, count);
    for (int i = 1; i <= 2; i++) {
        turn(&loop);
        CHECK(ran == MANY, RUN, "%d tasks were queued, and after %d iterations %d had been run",
              MANY, i, ran);
    }
}

static struct job later; /* is queued by another task */

static void queue_later(struct job *job)
{
    check_step("calls queue_in_loop() in a task, for its own loop");
    queue_in_loop(&loop, &later.task);
    CHECK(later.runs == 0, LOCK, "the task was run before queue_in_loop() returned");
}

static void free_itself(struct job *job)
{
    ran++;
    free(job);
}

static void outside_the_lock(void)
{
    struct job job;
    loop_begin(&loop, 0);
    later = job_new(1, count);
    queue_jobs(&job, 1, queue_later);
    turn(&loop);
    CHECK(job.runs == 1, RUN, "the first task was run %d times", job.runs);
    for (int due = 0; due <= 1; due++, turn(&loop))
        CHECK(later.runs == due, LOCK,
              "a task was queued by another one, and was run %d times %d iterations later",
              later.runs, due);
    check_case();
    check_step("queues %d tasks that free themselves", SOME);
    for (int i = 0; i < SOME; i++) {
        struct job *one = check_memory(sizeof *one);
        *one = job_new(i, free_itself);
        queue_in_loop(&loop, &one->task);
    }
    turn(&loop);
    CHECK(ran == SOME + 1, RUN, "of %d tasks that free themselves, %d were run", SOME, ran - 1);
}

/* Each of the first two tasks uses up the budget, and the first one queues the last. */
static void spend_or_follow(struct job *job)
{
    CHECK(job->number == ran, LEFT, "task %d was run before task %d", job->number, ran);
    if (ran++ < 2)
        loop_spend(&loop, 2 * (size_t)LOOP_BUDGET_BYTES);
    if (job->number == 0)
        queue_in_loop(&loop, &later.task);
}

static void within_the_budget(void)
{
    static const int due[] = {1, 2, SOME + 1};
    struct job jobs[SOME];
    loop_begin(&loop, 0);
    later = job_new(SOME, spend_or_follow);
    check_step("queues tasks 0 to %d; 0 and 1 use up the budget, and 0 queues task %d", SOME - 1,
               SOME);
    queue_jobs(jobs, SOME, spend_or_follow);
    for (int i = 0; i < 3; i++) {
        check_step("calls loop_turn(), which must not sleep");
        loop_turn(&loop);
        CHECK(ran == due[i], LEFT, "after %d iterations %d tasks had been run instead of %d", i + 1,
              ran, due[i]);
    }
}

/* At once, or queued */

static struct job others[3];

static void *run_last_here(void *unused)
{
    run_in_loop(&loop, &others[2].task);
    return NULL;
}

static void run_others(struct job *job)
{
    pthread_t thread;
    check_step("calls run_in_loop() in the loop's own thread");
    run_in_loop(&loop, &others[0].task);
    CHECK(others[0].runs == 1, OWN, "when run_in_loop() returned, the task had been run %d times",
          others[0].runs);
    check_step("calls run_in_loop() for a second loop, in the thread of the first");
    run_in_loop(&second, &others[1].task);
    CHECK(others[1].runs == 0, OWN, "the task was run by the thread that called run_in_loop()");
    check_step("calls run_in_loop() in another thread, while a task is run");
    check_thread(&thread, run_last_here, NULL);
    pthread_join(thread, NULL);
    CHECK(others[2].runs == 0, OWN, "the task was run by the thread that called run_in_loop()");
}

static void own_thread(void)
{
    struct job job;
    loop_begin(&loop, 0);
    loop_begin(&second, 1);
    for (int i = 0; i < 3; i++)
        others[i] = job_new(i, count);
    queue_jobs(&job, 1, run_others);
    turn(&loop);
    CHECK(job.runs == 1, RUN, "the first task was run %d times", job.runs);
    turn(&loop);
    CHECK(others[2].runs == 1, OWN, "the task was run %d times", others[2].runs);
    turn(&second);
    CHECK(others[1].runs == 1, OWN, "the task was run %d times", others[1].runs);
}

/* Counts */

static struct stats stats;

static void *add_often(void *unused)
{
    for (int i = 0; i < STORM; i++) {
        stats_add(&stats, (struct counts){0, 0, 0});
        stats_add(&stats, (struct counts){2, 3, 4});
        stats_add(&stats, (struct counts){-1, -1, -1});
    }
    return NULL;
}

/* A sum that is made meanwhile may be from several moments, so only the last one is judged. The
 * thread sanitizer judges the others. */
static void counts_of_many(void)
{
    pthread_t threads[THREADS];
    struct counts sum = {0};
    const int all = THREADS * STORM;
    stats_init(&stats);
    check_step("calls stats_add() with 0, 0 and 0, with 2, 3 and 4, and with -1, -1 and -1, "
               "%d times in each of %d threads, and stats_sum() meanwhile",
               STORM, THREADS);
    for (int i = 0; i < THREADS; i++)
        check_thread(&threads[i], add_often, NULL);
    for (int i = 0; i < MANY; i++)
        stats_sum(&stats, &sum);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_step("calls stats_sum() with a sum of 10, 20 and 30, when these threads have ended");
    sum = (struct counts){10, 20, 30};
    stats_sum(&stats, &sum);
    CHECK(sum.connections == 10 + all && sum.received == 20 + 2 * all && sum.sent == 30 + 3 * all,
          "stats-of-all", "the sum is %d, %d and %d; due are %d, %d and %d", (int)sum.connections,
          (int)sum.received, (int)sum.sent, 10 + all, 20 + 2 * all, 30 + 3 * all);
}

const struct check checks[] = {
    {"one_wake_for_many", one_wake_for_many},
    {"in_their_order", in_their_order},
    {"queued_by_many", queued_by_many},
    {"run_meanwhile", run_meanwhile},
    {"all_are_run", all_are_run},
    {"outside_the_lock", outside_the_lock},
    {"within_the_budget", within_the_budget},
    {"own_thread", own_thread},
    {"counts_of_many", counts_of_many},
    {0},
};

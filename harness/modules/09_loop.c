/* Tasks that are queued into a loop: by its own thread, by others, by many at a time.
 * links: loop.c events.c timers.c log.c co.c? stack.c? */
#include <stdlib.h>

#include "watched_loop.h"

#define WAKE  "task-wake"
#define RUN   "tasks-run"
#define LOCK  "task-lock"
#define OWN   "task-thread"
#define LEFT  "task-budget"
#define ORDER "task-order"

enum {
    THREADS = 4,
    A_THREAD = 250,
    ALL = THREADS * A_THREAD,
    STORM = 3000,
    ROUNDS = 3,
    AT_ONCE = 4,
    EXPENSIVE = 10,
    PAUSE_MS = 20
};

static struct loop loop;
static int ran; /* tasks */

/* Queueing */

static void wakes_the_loop(void)
{
    watched_loop_begin(&loop, 0);
    for (int round = 0; round < ROUNDS; round++) {
        check_case();
        struct job job = watched_loop_job(round, NULL);
        check_step("calls loop_turn(), and queue_in_loop() in another thread while it sleeps");
        watched_loop_wake(&loop, &job, WAKE,
                          "loop_turn() slept on, although another thread had queued a task");
    }
    watched_loop_end(&loop);
}

/* However many of them one iteration runs. */
static void expect_next(struct job *job)
{
    CHECK(job->number == ran, ORDER, "task %d was run before task %d", job->number, ran);
    ran++;
}

static void in_their_order(void)
{
    struct job some[ROUNDS];
    watched_loop_begin(&loop, 0);
    check_step("calls queue_in_loop() for %d tasks", ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        some[i] = watched_loop_job(i, expect_next);
        queue_in_loop(&loop, &some[i].task);
    }
    check_step("calls loop_run_tasks(), until it returns false");
    while (loop_run_tasks(&loop))
        continue;
    CHECK(ran == ROUNDS, RUN, "%d of %d tasks were run", ran, ROUNDS);
    watched_loop_end(&loop);
}

/* The same without any thread that waits. */
static void before_the_sleep(void)
{
    watched_loop_begin(&loop, 0);
    struct job jobs[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        check_case();
        jobs[i] = watched_loop_job(i, NULL);
        check_step("calls queue_in_loop() in the loop's own thread");
        queue_in_loop(&loop, &jobs[i].task);
        watched_loop_turn(&loop, WAKE);
        CHECK(jobs[i].runs == 1, WAKE, "the task was run %d times instead of once", jobs[i].runs);
    }
    watched_loop_end(&loop);
}

/* Many at a time */

static struct job jobs[THREADS][STORM];
static int next_of[THREADS]; /* which job of each thread is to be run next */
static int a_thread;         /* jobs */
static atomic_int through;   /* threads that have queued all theirs */
static atomic_bool begun;    /* tasks are being run. Relaxed: it puts nothing in order */

static void expect_in_order(struct job *job)
{
    int thread = job->number / STORM, number = job->number % STORM;
    CHECK(job->runs == 1, RUN, "task %d of thread %d was run twice", number, thread);
    CHECK(number == next_of[thread], RUN, "task %d of thread %d was run before its task %d", number,
          thread, next_of[thread]);
    next_of[thread]++;
    ran++;
    atomic_store_explicit(&begun, true, memory_order_relaxed);
}

static void *queue_many(void *context)
{
    struct job *mine = context;
    for (int i = 0; i < a_thread; i++)
        queue_in_loop(&loop, &mine[i].task);
    atomic_fetch_add(&through, 1);
    return NULL;
}

/* The second half comes when the loop has run some of the first. */
static void *queue_meanwhile(void *context)
{
    struct job *mine = context;
    for (int i = 0; i < a_thread; i++) {
        while (i == a_thread / 2 && !atomic_load_explicit(&begun, memory_order_relaxed))
            check_pause(PAUSE_MS);
        queue_in_loop(&loop, &mine[i].task);
    }
    atomic_fetch_add(&through, 1);
    return NULL;
}

static void start_all(pthread_t threads[THREADS], int count, void *(*queue)(void *))
{
    a_thread = count;
    check_step("calls queue_in_loop() %d times in each of %d threads", count, THREADS);
    for (int i = 0; i < THREADS; i++) {
        for (int number = 0; number < count; number++)
            jobs[i][number] = watched_loop_job(i * STORM + number, expect_in_order);
        check_thread(&threads[i], queue, jobs[i]);
    }
}

/* The loop does nothing meanwhile. */
static void queued_by_many(void)
{
    pthread_t threads[THREADS];
    struct task *task;
    int count = 0;
    watched_loop_begin(&loop, 0);
    start_all(threads, STORM, queue_many);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    STAILQ_FOREACH (task, &loop.tasks, others)
        count++;
    CHECK(count == THREADS * STORM, ORDER, "%d tasks were queued, and %d are in the queue",
          THREADS * STORM, count);
    while (loop_run_tasks(&loop))
        ;
    watched_loop_end(&loop);
}

/* The loop is busy when they are queued. One iteration runs them all. */
static void all_are_run(void)
{
    pthread_t threads[THREADS];
    watched_loop_begin(&loop, 0);
    watched_loop_idle_turn(&loop);
    CHECK(!loop_run_tasks(&loop), RUN, "loop_run_tasks() returned true, but the queue was empty");
    start_all(threads, A_THREAD, queue_many);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    watched_loop_turn(&loop, WAKE);
    CHECK(ran == ALL, RUN, "after one iteration of the loop %d of %d tasks had been run", ran, ALL);
    watched_loop_idle_turn(&loop);
    CHECK(ran == ALL, RUN, "%d tasks were run, but %d had been queued", ran, ALL);
    struct job last = watched_loop_job(0, NULL);
    check_step("calls queue_in_loop(), then loop_run_tasks()");
    queue_in_loop(&loop, &last.task);
    CHECK(loop_run_tasks(&loop), RUN, "loop_run_tasks() returned false, but there was a task");
    CHECK(last.runs == 1, RUN, "loop_run_tasks() has run the task %d times", last.runs);
    watched_loop_end(&loop);
}

/* The loop runs them meanwhile. */
static void of_many_threads(void)
{
    pthread_t threads[THREADS];
    watched_loop_begin(&loop, 0);
    start_all(threads, STORM, queue_meanwhile);
    check_step("calls loop_turn(), again and again");
    while (ran < THREADS * STORM) {
        bool all = atomic_load(&through) == THREADS;
        atomic_store(&watched_loop_due, all);
        loop_turn(&loop);
        CHECK(!all || ran == THREADS * STORM, RUN,
              "%d tasks were queued, and one iteration later %d had not been run", THREADS * STORM,
              THREADS * STORM - ran);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    watched_loop_end(&loop);
}

/* More than an iteration has time for */

static int done;

static void spend(struct job *job)
{
    CHECK(job->number == done, LEFT, "task %d was run before task %d", job->number, done);
    done++;
    loop_spend(&loop, LOOP_BUDGET_BYTES / AT_ONCE + 1);
}

static void spend_all(struct job *job)
{
    done++;
    loop_spend(&loop, 2 * (size_t)LOOP_BUDGET_BYTES);
}

/* AT_ONCE tasks use up the budget. Another task comes when some are left. */
static void within_the_budget(void)
{
    struct job some[EXPENSIVE + 1];
    watched_loop_begin(&loop, 0);
    for (int i = 0; i <= EXPENSIVE; i++)
        some[i] = watched_loop_job(i, spend);
    check_step("queues %d tasks; %d of them use up the budget", EXPENSIVE, AT_ONCE);
    for (int i = 0; i < EXPENSIVE; i++)
        queue_in_loop(&loop, &some[i].task);
    for (int due = AT_ONCE; due < EXPENSIVE; due += AT_ONCE) {
        watched_loop_turn(&loop, LEFT);
        CHECK(done == due, LEFT, "after iteration %d, %d tasks had been run instead of %d",
              due / AT_ONCE, done, due);
    }
    check_step("queues another one when %d are left", EXPENSIVE - done);
    queue_in_loop(&loop, &some[EXPENSIVE].task);
    watched_loop_turn(&loop, LEFT);
    CHECK(done == EXPENSIVE + 1, LEFT, "%d tasks were run, but %d had been queued", done,
          EXPENSIVE + 1);
    watched_loop_end(&loop);
}

/* The first one uses up the budget, and queues another task. */
static struct job *added;

static void spend_and_queue(struct job *job)
{
    spend_all(job);
    queue_in_loop(&loop, &added->task);
}

static void expect_after_those_left(struct job *job)
{
    CHECK(job->number == done, LEFT,
          "task %d was left when the budget was used up, and task %d, which came later, was run "
          "before it",
          done, job->number);
    done++;
}

static void left_come_first(void)
{
    struct job some[ROUNDS + 1];
    watched_loop_begin(&loop, 0);
    added = &some[ROUNDS];
    for (int i = 0; i <= ROUNDS; i++)
        some[i] = watched_loop_job(i, i == 0 ? spend_and_queue : expect_after_those_left);
    check_step("queues tasks 0 to %d; task 0 uses up the budget, and queues task %d", ROUNDS - 1,
               ROUNDS);
    for (int i = 0; i < ROUNDS; i++)
        queue_in_loop(&loop, &some[i].task);
    for (int i = 0; i < ROUNDS; i++) {
        events_wake(loop.events);
        loop_turn(&loop);
    }
    CHECK(done == ROUNDS + 1, LEFT, "%d of %d tasks were run", done, ROUNDS + 1);
    watched_loop_end(&loop);
}

static void one_is_always_run(void)
{
    struct job some[ROUNDS];
    watched_loop_begin(&loop, 0);
    check_step("queues %d tasks, each of which spends twice the budget", ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        some[i] = watched_loop_job(i, spend_all);
        queue_in_loop(&loop, &some[i].task);
    }
    for (int i = 0; i < ROUNDS; i++) {
        watched_loop_turn(&loop, LEFT);
        CHECK(done == i + 1, LEFT, "after %d iterations, %d of these tasks had been run", i + 1,
              done);
    }
    watched_loop_end(&loop);
}

/* What a task may do */

static struct job other_job;

static void queue_other(struct job *job)
{
    check_step("calls queue_in_loop() in a task, for its own loop");
    queue_in_loop(&loop, &other_job.task);
    CHECK(other_job.runs == 0, LOCK, "the task was run before queue_in_loop() returned");
}

static void *queue_other_here(void *unused)
{
    queue_in_loop(&loop, &other_job.task);
    return NULL;
}

/* Waits until another thread has got through. */
static void wait_for(void *(*work)(void *))
{
    pthread_t thread;
    check_thread(&thread, work, NULL);
    pthread_join(thread, NULL);
}

static void let_another_queue(struct job *job)
{
    check_step("runs a task while another thread calls queue_in_loop() for this loop");
    wait_for(queue_other_here);
}

static void run_and_expect_other_next(void (*then)(struct job *))
{
    check_case();
    struct job job = watched_loop_job(0, then);
    other_job = watched_loop_job(1, NULL);
    queue_in_loop(&loop, &job.task);
    watched_loop_turn(&loop, WAKE);
    CHECK(job.runs == 1, RUN, "the first task was run %d times", job.runs);
    CHECK(other_job.runs == 0, LOCK,
          "a task queued while the tasks were run was run in the same iteration");
    watched_loop_turn(&loop, LOCK);
    CHECK(other_job.runs == 1, LOCK, "in the next iteration the other task was run %d times",
          other_job.runs);
}

static void free_itself(struct job *job)
{
    ran++;
    free(job);
}

static void outside_the_lock(void)
{
    watched_loop_begin(&loop, 0);
    run_and_expect_other_next(queue_other);
    run_and_expect_other_next(let_another_queue);
    check_case();
    check_step("queues %d tasks that free themselves", ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        struct job *job = check_memory(sizeof *job);
        *job = watched_loop_job(i, free_itself);
        queue_in_loop(&loop, &job->task);
    }
    watched_loop_turn(&loop, WAKE);
    CHECK(ran == ROUNDS, RUN, "of %d tasks that free themselves, %d were run", ROUNDS, ran);
    watched_loop_end(&loop);
}

/* At once, or queued */

static struct loop second;

static void run_other(struct job *job)
{
    check_step("calls run_in_loop() in the loop's own thread");
    run_in_loop(&loop, &other_job.task);
    CHECK(other_job.runs == 1, OWN, "when run_in_loop() returned, the task had been run %d times",
          other_job.runs);
}

static void *run_other_here(void *unused)
{
    run_in_loop(&loop, &other_job.task);
    return NULL;
}

static void let_another_run(struct job *job)
{
    check_step("calls run_in_loop() in another thread, while a task is run");
    wait_for(run_other_here);
    CHECK(other_job.runs == 0, OWN, "the task was run by the thread that called run_in_loop()");
}

static void *turn_second(void *unused)
{
    loop_turn(&second);
    return NULL;
}

static void run_in_second(struct job *job)
{
    check_step("calls run_in_loop() for a second loop, in the thread of the first");
    run_in_loop(&second, &other_job.task);
    CHECK(other_job.runs == 0, OWN, "the task was run by the thread that called run_in_loop()");
}

static void own_thread(void)
{
    pthread_t thread;
    watched_loop_begin(&loop, 0);
    watched_loop_begin(&second, 1);
    void (*const cases[])(struct job *) = {run_other, let_another_run, run_in_second};
    for (int i = 0; i < 3; i++) {
        check_case();
        struct job job = watched_loop_job(0, cases[i]);
        other_job = watched_loop_job(1, NULL);
        check_step("calls queue_in_loop() for a task that does the next steps");
        queue_in_loop(&loop, &job.task);
        watched_loop_turn(&loop, WAKE);
        CHECK(job.runs == 1, RUN, "the first task was run %d times", job.runs);
        if (cases[i] == let_another_run)
            watched_loop_turn(&loop, WAKE);
    }
    check_step("calls loop_turn() for the second loop, in a thread of its own");
    check_thread(&thread, turn_second, NULL);
    pthread_join(thread, NULL);
    CHECK(other_job.runs == 1, OWN, "the task was run %d times", other_job.runs);
    CHECK(pthread_equal(other_job.runner, thread), OWN,
          "the task was run by another thread than that of its loop");
    watched_loop_end(&second);
    watched_loop_end(&loop);
}

const struct check checks[] = {
    {"wakes_the_loop", wakes_the_loop},
    {"in_their_order", in_their_order},
    {"queued_by_many", queued_by_many},
    {"before_the_sleep", before_the_sleep},
    {"all_are_run", all_are_run},
    {"of_many_threads", of_many_threads},
    {"within_the_budget", within_the_budget},
    {"left_come_first", left_come_first},
    {"one_is_always_run", one_is_always_run},
    {"outside_the_lock", outside_the_lock},
    {"own_thread", own_thread},
    {0},
};

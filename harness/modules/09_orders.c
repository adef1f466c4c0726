/* Tasks that threads queue into a loop; their calls and those of the loop in every order.
 * links: loop.c events.c timers.c backend_poll.c log.c co.c? stack.c? */
#include "orders.h"

#include "loop_job.h"

enum { THREADS = 2, EACH = 2, ALL = THREADS * EACH + 1 };

static struct loop loop;
static struct job jobs[ALL];
static int due, ran;

static void count(struct job *job)
{
    ran++;
    if (job->number == 0 && due == ALL)
        queue_in_loop(&loop, &jobs[ALL - 1].task);
}

static void prepare(void)
{
    loop_begin(&loop, 0);
    ran = 0;
    for (int i = 0; i < ALL; i++)
        jobs[i] = job_new(i, count);
}

static void finish(void)
{
    for (int i = 0; i < due; i++)
        CHECK(jobs[i].runs == 1, "tasks-run", "task %d was run %d times", i, jobs[i].runs);
    loop_destroy(&loop);
}

static void run_all(void *unused)
{
    while (ran < due)
        loop_turn(&loop);
}

static void queue_some(void *context)
{
    struct job *mine = context;
    for (int i = 0; i < EACH && i < due; i++)
        queue_in_loop(&loop, &mine[i].task);
}

static void try(int others, const char *hint)
{
    const struct orders_thread threads[] = {
        {"the loop", run_all, NULL},
        {"thread 1", queue_some, &jobs[0]},
        {"thread 2", queue_some, &jobs[EACH]},
    };
    int orders = orders_try(threads, 1 + others, prepare, finish, hint,
                            "the loop sleeps for ever, and a task is in its queue");
    check_value("orders", orders);
}

static void one_task(void)
{
    due = 1;
    try(1, "task-wake");
}

/* The first one queues the last. */
static void many_tasks(void)
{
    due = ALL;
    try(THREADS, "wake-lost");
}

const struct check checks[] = {
    {"one_task", one_task},
    {"many_tasks", many_tasks},
    {0},
};

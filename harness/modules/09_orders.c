/* Tasks that two threads queue into a loop; their calls and those of the loop in every order.
 * links: loop.c events.c timers.c log.c co.c? stack.c? */
#include "orders.h"
#include "watched_loop.h"

#define WAKE "wake-lost"
#define RUN  "tasks-run"

enum { OTHERS = 2, EACH = 2, ALL = OTHERS * EACH + 1 };

static struct loop loop;
static struct job jobs[ALL];
static int ran;

/* The first one queues the last. */
static void count(struct job *job)
{
    ran++;
    if (job->number == 0)
        queue_in_loop(&loop, &jobs[ALL - 1].task);
}

static void prepare(void)
{
    watched_loop_begin(&loop, 0);
    ran = 0;
    for (int i = 0; i < ALL; i++)
        jobs[i] = watched_loop_job(i, count);
}

static void finish(void)
{
    for (int i = 0; i < ALL; i++)
        CHECK(jobs[i].runs == 1, RUN, "task %d was run %d times", i, jobs[i].runs);
    watched_loop_end(&loop);
}

static void run_all(void *unused)
{
    while (ran < ALL)
        loop_turn(&loop);
}

static void queue_some(void *context)
{
    struct job *mine = context;
    for (int i = 0; i < EACH; i++)
        queue_in_loop(&loop, &mine[i].task);
}

static void of_wakes(void)
{
    const struct orders_thread threads[] = {
        {"the loop", run_all, NULL},
        {"thread 1", queue_some, &jobs[0]},
        {"thread 2", queue_some, &jobs[EACH]},
    };
    int orders = orders_try(threads, 3, prepare, finish, WAKE,
                            "the loop sleeps for ever, and a task is in its queue");
    check_value("orders", orders);
}

const struct check checks[] = {
    {"of_wakes", of_wakes},
    {0},
};

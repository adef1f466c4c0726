#include "server/loop.h"

/* The loop that this thread runs. NULL: none yet. */
static _Thread_local struct loop *own_loop;

bool loop_init(struct loop *loop, int index, const struct backend *backend)
{
    *loop = (struct loop){.index = index};
    STAILQ_INIT(&loop->tasks);
    STAILQ_INIT(&loop->taken);
    pthread_mutex_init(&loop->lock, NULL); /* on Linux this cannot fail for a plain mutex */
    loop->events = events_new(backend);
    if (loop->events == NULL)
        return false;
    loop->timers = timers_new();
    if (loop->timers == NULL) {
        events_free(loop->events);
        return false;
    }
    return true;
}

void loop_destroy(struct loop *loop)
{
    timers_free(loop->timers);
    events_free(loop->events);
    pthread_mutex_destroy(&loop->lock);
}

// BEGIN queue
void queue_in_loop(struct loop *loop, struct task *task)
{
    pthread_mutex_lock(&loop->lock);
    bool first = STAILQ_EMPTY(&loop->tasks);
    STAILQ_INSERT_TAIL(&loop->tasks, task, others);
    pthread_mutex_unlock(&loop->lock);
    /* One wake-up is enough for all tasks in the queue: the first one causes it. */
    if (first)
        events_wake(loop->events);
}

void run_in_loop(struct loop *loop, struct task *task)
{
    if (own_loop == loop)
        task->run(task);
    else
        queue_in_loop(loop, task);
}
// END queue

void loop_spend(struct loop *loop, size_t cost)
{
    loop->budget -= cost < loop->budget ? cost : loop->budget;
}

// BEGIN run_tasks
/* Takes all tasks that are queued now. */
static void take_tasks(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    STAILQ_CONCAT(&loop->taken, &loop->tasks);
    pthread_mutex_unlock(&loop->lock);
}

/* Runs tasks that were taken, without the lock: a task may take long, and may queue another one. */
static void run_taken(struct loop *loop)
{
    struct task *task;
    loop->budget = LOOP_BUDGET_BYTES;
    while (loop->budget > 0 && (task = STAILQ_FIRST(&loop->taken)) != NULL) {
        STAILQ_REMOVE_HEAD(&loop->taken, others); /* before it runs: it may free itself */
        task->run(task);
    }
}

bool loop_run_tasks(struct loop *loop)
{
    take_tasks(loop);
    bool any = !STAILQ_EMPTY(&loop->taken);
    run_taken(loop);
    return any;
}
// END run_tasks

/* Tasks are taken before the wait, and run after what the sockets have reported: so a task finds
 * every connection as it is now. Tasks that come meanwhile end the wait, and run in the next
 * iteration. */
void loop_turn(struct loop *loop)
{
    own_loop = loop;
    take_tasks(loop);
    bool may_sleep = STAILQ_EMPTY(&loop->taken);
    events_turn(loop->events, may_sleep ? timers_timeout(loop->timers) : 0);
    timers_run(loop->timers);
    run_taken(loop);
}

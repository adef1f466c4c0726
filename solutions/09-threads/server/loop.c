#include "server/loop.h"

#include <errno.h>

/* The loop that this thread runs. NULL: none yet. */
static _Thread_local struct loop *own_loop;

bool loop_init(struct loop *loop, int index, const struct backend *backend)
{
    *loop = (struct loop){.index = index};
    STAILQ_INIT(&loop->tasks);
    pthread_mutex_init(&loop->lock, NULL); /* on Linux this cannot fail for a plain mutex */
    loop->events = events_new(backend);
    if (loop->events == NULL)
        return false;
    loop->timers = timers_new();
    if (loop->timers == NULL) {
        int saved_errno = errno;
        events_free(loop->events);
        errno = saved_errno;
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

// BEGIN run_tasks
bool loop_run_tasks(struct loop *loop)
{
    /* Takes all tasks at once, and runs them without the lock: a task may take long, and may append
     * another one to this queue. That one waits for the next iteration. */
    struct task_queue mine = STAILQ_HEAD_INITIALIZER(mine);
    pthread_mutex_lock(&loop->lock);
    STAILQ_CONCAT(&mine, &loop->tasks);
    pthread_mutex_unlock(&loop->lock);

    bool any = !STAILQ_EMPTY(&mine);
    struct task *task;
    while ((task = STAILQ_FIRST(&mine)) != NULL) {
        STAILQ_REMOVE_HEAD(&mine, others); /* before it runs: it may free itself */
        task->run(task);
    }
    return any;
}
// END run_tasks

void loop_turn(struct loop *loop)
{
    own_loop = loop;
    events_turn(loop->events, timers_timeout(loop->timers));
    timers_run(loop->timers);
    loop_run_tasks(loop);
}

#include "server/loop.h"

#include <errno.h>

/* The loop that this thread runs. NULL: none yet. */
static _Thread_local struct loop *own_loop;

static void free_parts(struct loop *loop)
{
    if (loop->scheduler != NULL)
        scheduler_free(loop->scheduler);
    if (loop->timers != NULL)
        timers_free(loop->timers);
    if (loop->events != NULL)
        events_free(loop->events);
}

bool loop_init(struct loop *loop, int index, const struct backend *backend, size_t stack_bytes)
{
    *loop = (struct loop){.index = index};
    STAILQ_INIT(&loop->tasks);
    loop->events = events_new(backend);
    loop->timers = loop->events != NULL ? timers_new() : NULL;
    loop->scheduler = loop->timers != NULL ? scheduler_new(loop->timers, stack_bytes) : NULL;
    if (loop->scheduler == NULL) {
        int saved_errno = errno;
        free_parts(loop);
        errno = saved_errno;
        return false;
    }
    pthread_mutex_init(&loop->lock, NULL); /* on Linux this cannot fail for a plain mutex */
    return true;
}

void loop_destroy(struct loop *loop)
{
    free_parts(loop);
    pthread_mutex_destroy(&loop->lock);
}

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

void loop_turn(struct loop *loop)
{
    own_loop = loop;
    bool ready = co_is_ready(loop->scheduler);
    events_turn(loop->events, ready ? 0 : timers_timeout(loop->timers));
    timers_run(loop->timers);
    loop_run_tasks(loop);
    co_run(loop->scheduler);
}

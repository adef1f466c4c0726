#include "loop.h"

#include <errno.h>

/* The loop whose thread this is. */
static _Thread_local struct loop *own_loop;

bool loop_init(struct loop *loop, int index, const struct backend *backend)
{
    *loop = (struct loop){.index = index};
    STAILQ_INIT(&loop->tasks);
    pthread_mutex_init(&loop->lock,
                       NULL); /* a plain one needs nothing: on Linux this cannot fail */
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

void queue_in_loop(struct loop *loop, struct task *task)
{
    /* TODO 1: Put a task at the end of the line, under the lock, and have the loop wake up for
     * it. Graded by test_09_queued_task_wakes_the_loop.
     * One wake-up is enough for all that are in the line. */
    pthread_mutex_lock(&loop->lock);
    STAILQ_INSERT_TAIL(&loop->tasks, task, others);
    pthread_mutex_unlock(&loop->lock);
}

void run_in_loop(struct loop *loop, struct task *task)
{
    /* TODO 3: Run the task at once if this is the loop's own thread, or queue it. Graded by
     * test_09_own_thread_runs_at_once.
     * loop_turn() keeps in own_loop whose thread this is. */
    (void)own_loop;
    queue_in_loop(loop, task);
}

bool loop_run_tasks(struct loop *loop)
{
    /* TODO 2: Take the whole line out while the lock is held, then run the tasks without it.
     * Graded by test_09_all_tasks_are_run.
     * STAILQ_CONCAT empties the line it takes from. A task that is run may be freed by it. Say
     * whether there was any. */
    pthread_mutex_lock(&loop->lock);
    struct task *task = STAILQ_FIRST(&loop->tasks);
    if (task != NULL)
        STAILQ_REMOVE_HEAD(&loop->tasks, others);
    pthread_mutex_unlock(&loop->lock);
    if (task != NULL)
        task->run(task);
    return task != NULL;
}

void loop_turn(struct loop *loop)
{
    own_loop = loop;
    events_turn(loop->events, timers_timeout(loop->timers));
    timers_run(loop->timers);
    loop_run_tasks(loop);
}

#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "server/acceptor.h"

/* A thread, and the task that ends it. */
struct worker {
    struct task stop;
    pthread_t thread;
    struct loop *loop;
};

/* A worker runs the iterations of its loop. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    while (!events_stopping(worker->loop->events))
        loop_turn(worker->loop);
    spare_free();
    return NULL;
}

/* TODO 7: Tell all workers to stop, with a task for each, then wait for their threads. Graded by
 * test_09_memory.
 * The stub ends the process at once. */
static void stop(struct task *task)
{
    (void)task;
}

static void join(struct worker *workers, int count)
{
    (void)workers, (void)count;
    exit(EXIT_SUCCESS);
}

/* Starts a worker for each loop but the first. Returns how many loops have a thread now. If
 * these are not all, errno has the reason. */
static int start(struct services *all, struct worker *workers)
{
    for (int i = 1; i < all->count; i++) {
        struct worker *worker = &workers[i];
        *worker = (struct worker){.stop = {.run = stop}, .loop = &all->each[i].loop};
        int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error != 0) {
            errno = error;
            return i;
        }
    }
    return all->count;
}

/* Runs the first loop, in this thread. */
static void accept_and_serve(int listen_fd, struct services *all)
{
    struct loop *loop = &all->each[0].loop;
    struct acceptor acceptor;
    acceptor_open(&acceptor, listen_fd, all);
    while (!events_stopping(loop->events)) {
        loop_turn(loop);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
}

bool server_run(int listen_fd, struct services *all)
{
    struct worker *workers = calloc((size_t)all->count, sizeof *workers);
    if (workers == NULL)
        return false;
    int count = start(all, workers);
    int error = errno;
    bool complete = count == all->count;
    if (complete)
        accept_and_serve(listen_fd, all);
    join(workers, count);
    free(workers);
    errno = error;
    return complete;
}

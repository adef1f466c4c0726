#include "server/server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "co/overflow.h"
#include "server/acceptor.h"
#include "server/conn.h"

/* A thread, and the task that ends it. */
struct worker {
    struct task stop;
    pthread_t thread;
    struct service *service;
};

/* A worker runs the iterations of its loop. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    struct loop *loop = &worker->service->loop;
    overflow_watch(); /* if it fails, an overflow is still SIGSEGV, but without a message */
    while (!events_stopping(loop->events))
        loop_turn(loop);
    conn_close_all(worker->service); /* here: only this thread may run their coroutines */
    spare_free();
    overflow_unwatch();
    return NULL;
}

/* The last task that a worker runs. */
static void stop(struct task *task)
{
    struct worker *worker = (struct worker *)task; /* its first member */
    events_stop(worker->service->loop.events);
}

/* Ends workers 1 to `count` - 1, and waits until they have ended. Tasks that they leave in their
 * queues stay there. */
static void join(struct worker *workers, int count)
{
    /* Tells all workers first, and waits then: so they end at the same time. */
    for (int i = 1; i < count; i++)
        queue_in_loop(&workers[i].service->loop, &workers[i].stop);
    for (int i = 1; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

/* Starts a worker for each loop but the first. Returns how many loops have a thread now. If
 * these are not all, errno has the reason. */
static int start(struct services *all, struct worker *workers)
{
    for (int i = 1; i < all->count; i++) {
        struct worker *worker = &workers[i];
        *worker = (struct worker){.stop = {.run = stop}, .service = &all->each[i]};
        int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error != 0) {
            errno = error;
            return i;
        }
    }
    return all->count;
}

/* Runs the first loop, in this thread. False: errno has the reason. */
static bool accept_and_serve(int listen_fd, struct services *all)
{
    struct loop *loop = &all->each[0].loop;
    struct acceptor acceptor;
    if (!acceptor_open(&acceptor, listen_fd, all))
        return false;
    overflow_watch();
    while (!events_stopping(loop->events)) {
        loop_turn(loop);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    overflow_unwatch();
    return true;
}

bool server_run(int listen_fd, struct services *all)
{
    struct worker *workers = calloc((size_t)all->count, sizeof *workers);
    if (workers == NULL)
        return false;
    int count = start(all, workers);
    bool served = count == all->count && accept_and_serve(listen_fd, all);
    int saved_errno = errno;
    join(workers, count);
    free(workers);
    errno = saved_errno;
    return served;
}

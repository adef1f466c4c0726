#include "server/server.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "co/overflow.h"
#include "server/acceptor.h"
#include "server/conn.h"

static void destroy(struct server *server)
{
    for (int i = 0; i < server->count; i++)
        worker_destroy(&server->workers[i]);
    free(server->workers);
}

bool server_open(struct server *server, const struct config *config, int count,
                 const struct backend *backend)
{
    *server = (struct server){.config = config};
    /* calloc() does not align to cache lines. */
    server->workers = aligned_alloc(CACHE_LINE_BYTES, (size_t)count * sizeof *server->workers);
    if (server->workers == NULL)
        return false;
    for (; server->count < count; server->count++) {
        struct worker *worker = &server->workers[server->count];
        if (!worker_init(worker, server, server->count, backend)) {
            int saved_errno = errno;
            destroy(server);
            errno = saved_errno;
            return false;
        }
    }
    return true;
}

/* A thread runs the iterations of its worker's loop. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    overflow_watch(); /* if it fails, an overflow is still SIGSEGV, but without a message */
    while (!events_stopping(worker->loop.events))
        worker_turn(worker);
    conn_close_all(worker); /* here: only this thread may run their coroutines */
    spare_free();
    overflow_unwatch();
    return NULL;
}

// BEGIN join
/* The last task of a worker. */
static void stop(struct task *task)
{
    size_t before = offsetof(struct worker, stop); /* the task is part of its worker */
    struct worker *worker = (struct worker *)((char *)task - before);
    events_stop(worker->loop.events);
}

/* Ends the threads of workers 1 to `count` - 1, and waits until they have ended. Tasks that they
 * leave in their queues stay there. */
static void join(struct server *server, int count)
{
    /* Tells all of them first, and waits then: so they end at the same time. */
    for (int i = 1; i < count; i++) {
        server->workers[i].stop = (struct task){.run = stop};
        queue_in_loop(&server->workers[i].loop, &server->workers[i].stop);
    }
    for (int i = 1; i < count; i++)
        pthread_join(server->workers[i].thread, NULL);
}
// END join

/* Starts the thread of each worker but the first. Returns how many workers have a thread now. If
 * these are not all, errno has the reason. */
static int start(struct server *server)
{
    for (int i = 1; i < server->count; i++) {
        struct worker *worker = &server->workers[i];
        int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error != 0) {
            errno = error;
            return i;
        }
    }
    return server->count;
}

/* Runs the first worker, in this thread. False: errno has the reason. */
static bool accept_and_serve(struct server *server, int listen_fd)
{
    struct worker *first = &server->workers[0];
    struct acceptor acceptor;
    if (!acceptor_open(&acceptor, server, listen_fd))
        return false;
    overflow_watch();
    while (!events_stopping(first->loop.events)) {
        worker_turn(first);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    overflow_unwatch();
    return true;
}

bool server_run(struct server *server, int listen_fd)
{
    int count = start(server);
    bool served = count == server->count && accept_and_serve(server, listen_fd);
    int saved_errno = errno;
    join(server, count);
    errno = saved_errno;
    return served;
}

// BEGIN stop
static void close_conns(struct server *server)
{
    for (int i = 0; i < server->count; i++)
        conn_close_all(&server->workers[i]);
}

/* Runs the tasks that are left. True: there were any. */
static bool run_tasks(struct server *server)
{
    bool any = false;
    for (int i = 0; i < server->count; i++)
        any = loop_run_tasks(&server->workers[i].loop) || any;
    return any;
}

/* Connections first: they are what begins new work, so the tasks come to an end. A task that is
 * left may be a client on its way to its loop. */
void server_close(struct server *server)
{
    close_conns(server);
    while (run_tasks(server))
        continue;
    close_conns(server);
    destroy(server);
    spare_free();
}
// END stop

// BEGIN sum_up
struct counts server_counts(const struct server *server)
{
    struct counts sum = {0};
    for (int i = 0; i < server->count; i++)
        stats_sum(&server->workers[i].stats, &sum);
    return sum;
}
// END sum_up

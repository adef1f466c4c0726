#include "server/server.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "events/stop.h"
#include "server/acceptor.h"
#include "server/alarms.h"
#include "server/conn.h"
#include "server/grace.h"

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
            destroy(server);
            return false;
        }
    }
    return true;
}

/* A thread runs the iterations of its worker's loop. */
static void *work(void *argument)
{
    struct worker *worker = argument;
    while (!events_stopping(worker->loop.events))
        loop_turn(&worker->loop);
    alarms_free_now();
    spare_free();
    return NULL;
}

/* Starts the thread of each worker but the first, which runs in this one. False: errno has the
 * reason. */
static bool start(struct server *server)
{
    for (server->running = 1; server->running < server->count; server->running++) {
        struct worker *worker = &server->workers[server->running];
        int error = pthread_create(&worker->thread, NULL, work, worker);
        if (error != 0) {
            errno = error;
            return false;
        }
    }
    return true;
}

/* Runs the first worker, in this thread. False: errno has the reason. */
static bool accept_and_serve(struct server *server, int listen_fd)
{
    struct loop *loop = &server->workers[0].loop;
    struct acceptor acceptor;
    if (!acceptor_open(&acceptor, server, listen_fd))
        return false;
    while (!stop_requested()) {
        loop_turn(loop);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    close(listen_fd); /* from now on connect() is refused */
    if (server->config->grace_ms > 0)
        grace_serve(server);
    return true;
}

bool server_run(struct server *server, int listen_fd)
{
    return start(server) && accept_and_serve(server, listen_fd);
}

static void close_conns(struct server *server)
{
    for (int i = 0; i < server->count; i++)
        conn_close_all(&server->workers[i]);
}

/* Runs tasks that are left, of all workers. False: there was none. */
static bool run_tasks(struct server *server)
{
    bool any = false;
    for (int i = 0; i < server->count; i++)
        any = loop_run_tasks(&server->workers[i].loop) || any;
    return any;
}

// BEGIN stop
/* Ends the other threads. Tasks that they have not run stay in their queues. */
static void join(struct server *server)
{
    /* Tells all of them first, and waits then: so they end at the same time. */
    for (int i = 1; i < server->running; i++)
        events_stop(server->workers[i].loop.events);
    for (int i = 1; i < server->running; i++)
        pthread_join(server->workers[i].thread, NULL);
}

/* Connections are closed before the tasks that are left run: so nothing begins new work, and a
 * broadcast that is left finds nobody to go to. A task may be a client on its way to its loop, and
 * open a connection. */
void server_stop(struct server *server)
{
    join(server);
    close_conns(server);
    while (run_tasks(server))
        continue;
    close_conns(server);
}
// END stop

void server_close(struct server *server)
{
    destroy(server);
    spare_free();
}

struct counts server_counts(const struct server *server)
{
    struct counts sum = {0};
    for (int i = 0; i < server->count; i++)
        stats_sum(&server->workers[i].stats, &sum);
    return sum;
}

#include "server/worker.h"

#include "server/app.h"
#include "server/conn.h"
#include "server/server.h"

bool worker_init(struct worker *worker, struct server *server, int index,
                 const struct backend *backend)
{
    *worker = (struct worker){.config = server->config, .server = server};
    if (!loop_init(&worker->loop, index, backend, server->config->stack_bytes))
        return false;
    stats_init(&worker->stats);
    return true;
}

void worker_destroy(struct worker *worker)
{
    worker->config->app->stop(worker);
    loop_destroy(&worker->loop);
    stats_destroy(&worker->stats);
}

void worker_turn(struct worker *worker)
{
    loop_turn(&worker->loop);
    conn_send_all(worker);
}

void worker_left(struct worker *worker)
{
    stats_add(&worker->stats, (struct counts){.connections = -1});
    if (worker->config->limits.max_conns > 0 || worker->ending)
        events_wake(worker->server->workers[0].loop.events);
}

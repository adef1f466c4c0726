#include "server/worker.h"

#include "server/conn.h"
#include "server/server.h"

static void stats_init(struct stats *stats)
{
    *stats = (struct stats){0};
    pthread_mutex_init(&stats->lock, NULL); /* on Linux this cannot fail for a plain mutex */
}

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
    loop_destroy(&worker->loop);
    pthread_mutex_destroy(&worker->stats.lock);
}

void worker_turn(struct worker *worker)
{
    loop_turn(&worker->loop);
    conn_send_all(worker);
}

static void add(struct counts *sum, const struct counts *more)
{
    sum->connections += more->connections;
    sum->received += more->received;
    sum->sent += more->sent;
}

void stats_add(struct stats *stats, struct counts more)
{
    pthread_mutex_lock(&stats->lock);
    add(&stats->counts, &more);
    pthread_mutex_unlock(&stats->lock);
}

void stats_sum(struct stats *stats, struct counts *sum)
{
    pthread_mutex_lock(&stats->lock);
    add(sum, &stats->counts);
    pthread_mutex_unlock(&stats->lock);
}

void worker_left(struct worker *worker)
{
    stats_add(&worker->stats, (struct counts){.connections = -1});
    if (worker->config->limits.max_conns > 0 || worker->ending)
        events_wake(worker->server->workers[0].loop.events);
}

#include "server/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "server/conn.h"

static void stats_init(struct stats *stats)
{
    *stats = (struct stats){0};
    pthread_mutex_init(&stats->lock, NULL); /* on Linux this cannot fail for a plain mutex */
}

static void stats_destroy(struct stats *stats)
{
    pthread_mutex_destroy(&stats->lock);
}

static void destroy(struct services *all)
{
    for (int i = 0; i < all->count; i++) {
        loop_destroy(&all->each[i].loop);
        stats_destroy(&all->each[i].stats);
    }
    free(all->each);
}

bool services_open(struct services *all, int count, const struct backend *backend,
                   const struct service *like)
{
    /* calloc() does not align to cache lines. */
    *all = (struct services){.each = aligned_alloc(CACHE_LINE_BYTES, (size_t)count * sizeof *like)};
    if (all->each == NULL)
        return false;
    for (; all->count < count; all->count++) {
        struct service *service = &all->each[all->count];
        *service = (struct service){
            .framing = like->framing,
            .app = like->app,
            .limits = like->limits,
            .all = all,
        };
        stats_init(&service->stats);
        if (!loop_init(&service->loop, all->count, backend)) {
            int saved_errno = errno;
            destroy(all);
            errno = saved_errno;
            return false;
        }
    }
    return true;
}

void services_close(struct services *all)
{
    /* A task may queue another one in a loop whose queue was empty. So go on until a round finds
     * all queues empty. */
    bool any;
    do {
        any = false;
        for (int i = 0; i < all->count; i++)
            any = loop_run_tasks(&all->each[i].loop) || any;
    } while (any);
    for (int i = 0; i < all->count; i++)
        conn_close_all(&all->each[i]);
    destroy(all);
    spare_free();
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

// BEGIN sum_up
struct counts services_sum(const struct services *all)
{
    struct counts sum = {0};
    for (int i = 0; i < all->count; i++)
        stats_sum(&all->each[i].stats, &sum);
    return sum;
}

void service_left(struct service *service)
{
    stats_add(&service->stats, (struct counts){.connections = -1});
    if (service->limits.max_conns > 0)
        events_wake(service->all->each[0].loop.events);
}
// END sum_up

#include "server/stats.h"

void stats_init(struct stats *stats)
{
    *stats = (struct stats){0};
    pthread_mutex_init(&stats->lock, NULL); /* on Linux this cannot fail for a plain mutex */
}

void stats_destroy(struct stats *stats)
{
    pthread_mutex_destroy(&stats->lock);
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

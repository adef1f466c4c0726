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

/* TODO 4: Let any thread count, and any thread read the counts: stats_add() adds to those of a
 * worker, and stats_sum() adds those of a worker to a sum. Graded by test_09_stats_of_all_loops.
 * add() is there. server_counts() calls stats_sum() for each worker. The stub counts nothing. */
void stats_add(struct stats *stats, struct counts more)
{
    (void)stats, (void)more, (void)add;
}

void stats_sum(struct stats *stats, struct counts *sum)
{
    (void)stats, (void)sum;
}

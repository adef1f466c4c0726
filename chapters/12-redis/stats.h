/* Counts of one loop: its own thread counts, any thread may read. */
#ifndef STATS_H
#define STATS_H

#include <pthread.h>
#include <stdint.h>

struct counts {
    int64_t connections; /* open now, or on their way to the loop */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies made */
};

struct stats {
    pthread_mutex_t lock; /* protects the counts */
    struct counts counts;
};

void stats_init(struct stats *stats);
void stats_destroy(struct stats *stats);

/* Adds `more`, number by number; they may be negative. From any thread. */
void stats_add(struct stats *stats, struct counts more);

/* Adds the counts so far to *sum. From any thread. */
void stats_sum(struct stats *stats, struct counts *sum);

#endif

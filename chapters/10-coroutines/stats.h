/* What a loop has done: counted by its own thread, read by any. */
#ifndef STATS_H
#define STATS_H

#include <pthread.h>
#include <stdint.h>

struct counts {
    int64_t connections; /* open now, or on their way to the loop */
    int64_t received;    /* frames that were complete */
    int64_t sent;        /* replies that were made */
};

struct stats {
    pthread_mutex_t lock; /* of the counts */
    struct counts counts;
};

void stats_init(struct stats *stats);
void stats_destroy(struct stats *stats);

/* Adds each of `more`, which may be negative. From any thread. */
void stats_add(struct stats *stats, struct counts more);

/* Adds what has been counted so far to *sum. From any thread. */
void stats_sum(struct stats *stats, struct counts *sum);

#endif

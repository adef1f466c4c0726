/* Counts that one thread writes and others read: so they are under a lock. */
#ifndef STATS_H
#define STATS_H

#include <pthread.h>
#include <stdint.h>

/* Of one worker. Its own thread writes them; but for each connection on its way here the thread
 * that accepts adds 1, and its own takes 1 away when the connection has ended. */
struct counts {
    int64_t connections; /* open now, or on their way here */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies and pushes made */
};

struct stats {
    pthread_mutex_t lock; /* protects the counts */
    struct counts counts;
};

/* All counts are 0. */
void stats_init(struct stats *stats);

/* No thread may use them any more. */
void stats_destroy(struct stats *stats);

/* Adds `more`, number by number; they may be negative. From any thread. */
void stats_add(struct stats *stats, struct counts more);

/* Adds the counts so far to *sum, which is the caller's. From any thread. */
void stats_sum(struct stats *stats, struct counts *sum);

#endif

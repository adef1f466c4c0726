/* A worker: a thread, its event loop, and the connections that it serves. Only this thread touches
 * them. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/loop.h"

/* Counts of one worker. Its own thread writes them; but for each connection on its way here the
 * thread that accepts adds 1, and its own takes 1 away when the connection has ended. */
struct counts {
    int64_t connections; /* open now, or on their way here */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies and pushes made */
};

struct stats {
    pthread_mutex_t lock; /* protects the counts: any thread may read them */
    struct counts counts;
};

struct conn;
struct server;

/* Processors move memory between each other in lines of 64 bytes. If two workers counted in the
 * same line, they would take it from each other with each frame, though they share no count. */
#define CACHE_LINE_BYTES 64

struct worker {
    alignas(CACHE_LINE_BYTES) struct stats stats;
    struct loop loop;
    const struct config *config;      /* borrowed; of the server */
    struct server *server;            /* borrowed */
    LIST_HEAD(conn_list, conn) conns; /* open now; for its own thread alone */
    bool ending;                      /* connections that owe nothing end; the same */
    struct task ends;                 /* sets `ending`, for grace.c */
    pthread_t thread;                 /* unset in the first worker: main() runs that one */
};

/* False: errno has the reason, and there is nothing to free. */
bool worker_init(struct worker *worker, struct server *server, int index,
                 const struct backend *backend);

/* Its thread must have ended, it must have no connections, and its queue must be empty. */
void worker_destroy(struct worker *worker);

/* To be called when a connection of this worker has ended: counts it, and wakes the first loop, in
 * which the acceptor may wait for that (`max_conns`), or the end of the server. From the worker's
 * thread. */
void worker_left(struct worker *worker);

/* Adds `more`, number by number; they may be negative. From any thread. */
void stats_add(struct stats *stats, struct counts more);

/* Adds the counts so far to *sum. From any thread. */
void stats_sum(struct stats *stats, struct counts *sum);

#endif

/* A worker: a thread, its event loop, and the connections that it serves. Only this thread touches
 * them. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdalign.h>
#include <sys/queue.h>

#include "server/loop.h"
#include "server/stats.h"

struct conn;
struct server;

/* Processors move memory between each other in lines of 64 bytes. If two workers counted in the
 * same line, they would take it from each other with each frame, though they share no count. */
#define CACHE_LINE_BYTES 64

struct worker {
    alignas(CACHE_LINE_BYTES) struct stats stats;
    struct loop loop;
    const struct config *config; /* borrowed; of the server */
    struct server *server;       /* borrowed */
    void *shared; /* what its clients share; only the application knows what this is */
    LIST_HEAD(conn_list, conn) conns; /* open now; for its own thread alone */
    LIST_HEAD(, conn) unsent;         /* those with output to send in this iteration; the same */
    bool ending;                      /* connections that owe nothing end; the same */
    struct task ends;                 /* sets `ending`, for grace.c */
    pthread_t thread;                 /* unset in the first worker: main() runs that one */
};

/* False: errno has the reason, and there is nothing to free. */
bool worker_init(struct worker *worker, struct server *server, int index,
                 const struct backend *backend);

/* Its thread must have ended, it must have no connections, and its queue must be empty. */
void worker_destroy(struct worker *worker);

/* One iteration of its loop; then sends what it has added to connections. */
void worker_turn(struct worker *worker);

/* To be called when a connection of this worker has ended: counts it, and wakes the first loop, in
 * which the acceptor may wait for that (`max_conns`), or the end of the server. From the worker's
 * thread. */
void worker_left(struct worker *worker);

#endif

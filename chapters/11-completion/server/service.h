/* What the server does for its clients. There is one for each loop and its connections. */
#ifndef SERVICE_H
#define SERVICE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/queue.h>

#include "server/limits.h"
#include "server/loop.h"
#include "wire/frame.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

/* Counts of one loop: its own thread counts, any thread may read. */
struct counts {
    int64_t connections; /* open now, or on their way to the loop */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies made */
};

struct stats {
    pthread_mutex_t lock; /* protects the counts */
    struct counts counts;
};

struct conn;

/* Processors move memory between each other in lines of 64 bytes. If two loops counted in the same
 * line, they would take it from each other with each frame, though they share no count. */
#define CACHE_LINE_BYTES 64

struct service {
    alignas(CACHE_LINE_BYTES) struct stats stats;
    struct loop loop;
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    struct limits limits;
    LIST_HEAD(conn_list, conn) conns; /* open now; for the thread of the loop alone */
    struct services *all;             /* this one and the others */
};

/* All of the server. */
struct services {
    struct service *each; /* owned; each[i].loop.index is i */
    int count;
};

/* Makes `count` services, with the framing, app and limits of `like`, and a loop in each, whose
 * coroutines get stacks of `stack_bytes`. False: errno has the reason, and there is nothing to
 * free. */
bool services_open(struct services *all, int count, const struct backend *backend,
                   size_t stack_bytes, const struct service *like);

/* Runs the tasks that are left, closes all connections, and frees everything. The threads of all
 * other loops must have ended. */
void services_close(struct services *all);

/* Adds `more`, number by number; they may be negative. From any thread. */
void stats_add(struct stats *stats, struct counts more);

/* Adds the counts so far to *sum. From any thread. */
void stats_sum(struct stats *stats, struct counts *sum);

/* The counts of all loops together. From any thread. */
struct counts services_sum(const struct services *all);

/* To be called when a connection of this service has ended: counts it, and wakes the first loop, in
 * which the acceptor may wait for that (`max_conns`). From the thread of its loop. */
void service_left(struct service *service);

#endif

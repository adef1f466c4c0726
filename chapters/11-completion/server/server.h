/* The server: what it does for its clients, and the workers that do it. There is one. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "server/limits.h"
#include "server/worker.h"
#include "wire/frame.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

/* What the command line has chosen. It never changes. */
struct config {
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    struct limits limits;
    int32_t grace_ms;   /* how long the server may take to end; 0: it ends at once */
    size_t stack_bytes; /* of each coroutine */
};

struct server {
    const struct config *config; /* borrowed */
    struct worker *workers;      /* owned; workers[i].loop.index is i */
    int count;
    int running; /* how many of them have a thread */
};

/* Makes `count` workers, whose threads do not run yet. Borrows the config. False: errno has the
 * reason, and there is nothing to free. */
bool server_open(struct server *server, const struct config *config, int count,
                 const struct backend *backend);

/* Starts the threads, accepts clients and serves them in all workers, until stop_requested().
 * Then closes the listening socket, which it takes over, and ends gracefully if grace_ms is not 0.
 * The threads go on until server_stop. False: errno has the reason. */
bool server_run(struct server *server, int listen_fd);

/* Ends the threads, closes all connections, and runs the tasks that are left. */
void server_stop(struct server *server);

/* Frees everything, after server_stop. */
void server_close(struct server *server);

/* The counts of all workers together. From any thread. */
struct counts server_counts(const struct server *server);

#endif

/* The server: what it does for its clients, and what it has. There is one. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "events/events.h"
#include "events/timers.h"
#include "server/limits.h"
#include "server/rpc.h"
#include "wire/frame.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

/* What the command line has chosen. It never changes. */
struct config {
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    struct limits limits;
    int32_t grace_ms; /* how long the server may take to end; 0: it ends at once */
};

struct conn;

struct server {
    const struct config *config;      /* borrowed */
    struct events *events;            /* borrowed */
    struct timers *timers;            /* borrowed */
    struct stats stats;               /* counts over all connections */
    LIST_HEAD(conn_list, conn) conns; /* all open connections */
    bool ending;                      /* connections that owe nothing end: only grace.c sets this */
};

/* Accepts clients and serves them until stop_requested(). Then closes the listening socket, which
 * it takes over, and ends. */
void server_run(struct server *server, int listen_fd);

#endif

/* The server: what it does for its clients, and what it has. There is one. */
#ifndef SERVER_H
#define SERVER_H

#include <stdint.h>
#include <sys/queue.h>

#include "events/events.h"
#include "events/timers.h"
#include "server/rpc.h"
#include "wire/frame.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

/* What the command line has chosen. It never changes. */
struct config {
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    int32_t idle_timeout_ms;  /* 0: none */
    int32_t frame_timeout_ms; /* 0: none */
};

struct conn;

struct server {
    const struct config *config;      /* borrowed */
    struct events *events;            /* borrowed */
    struct timers *timers;            /* borrowed */
    struct stats stats;               /* counts over all connections */
    LIST_HEAD(conn_list, conn) conns; /* all open connections */
};

/* Accepts clients and serves them, until events_stopping. Borrows the listening socket. */
void server_run(struct server *server, int listen_fd);

#endif

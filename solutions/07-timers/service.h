/* What the server does for its clients: one for all connections. */
#ifndef SERVICE_H
#define SERVICE_H

#include <sys/queue.h>

#include "events.h"
#include "frame.h"
#include "rpc.h"
#include "timers.h"

/* What is done with a frame: sent back as it is, or read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

struct conn;

struct service {
    struct events *events;  /* borrowed; tells the connections when they are ready */
    struct framing framing; /* FRAMING_LENGTH where app is APP_RPC */
    enum app app;
    struct stats stats;
    struct timers *timers;            /* borrowed */
    int32_t idle_timeout_ms;          /* 0: none */
    int32_t frame_timeout_ms;         /* 0: none */
    LIST_HEAD(conn_list, conn) conns; /* all that are open */
};

#endif

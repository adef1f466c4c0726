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

/* How much a client may have of the server. */
struct limits {
    int32_t idle_timeout_ms;   /* 0: none */
    int32_t frame_timeout_ms;  /* 0: none */
    size_t quota_frames;       /* in one interval; 0: no quota */
    int32_t quota_interval_ms; /* at least 1 where there is a quota */
    size_t high_water;         /* bytes of output that waits: from here on nothing more is read, */
    size_t low_water;          /* until it is down to this; at most high_water */
    int64_t max_conns;         /* 0: as many as there are descriptors for */
};

struct conn;

struct service {
    struct events *events;  /* borrowed; tells the connections when they are ready */
    struct framing framing; /* FRAMING_LENGTH where app is APP_RPC */
    enum app app;
    struct limits limits;
    struct stats stats;
    struct timers *timers;            /* borrowed */
    LIST_HEAD(conn_list, conn) conns; /* all that are open */
};

#endif

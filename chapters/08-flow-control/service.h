/* What the server does for its clients. There is one, which all connections share. */
#ifndef SERVICE_H
#define SERVICE_H

#include <sys/queue.h>

#include "events.h"
#include "frame.h"
#include "rpc.h"
#include "timers.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

/* How much of the server a client may use. */
struct limits {
    int32_t idle_timeout_ms;   /* 0: none */
    int32_t frame_timeout_ms;  /* 0: none */
    size_t quota_frames;       /* in one interval; 0: no quota */
    int32_t quota_interval_ms; /* at least 1 if there is a quota */
    size_t high_water;         /* stop reading once this many bytes of output are queued, */
    size_t low_water;          /* and read again at this many; at most high_water */
    int64_t max_conns;         /* 0: no limit but that of descriptors */
};

struct conn;

struct service {
    struct events *events;  /* borrowed; tells the connections when they are ready */
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    struct limits limits;
    struct stats stats;
    struct timers *timers;            /* borrowed */
    LIST_HEAD(conn_list, conn) conns; /* all open connections */
};

#endif

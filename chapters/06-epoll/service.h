/* What the server does for its clients: one for all connections. */
#ifndef SERVICE_H
#define SERVICE_H

#include "events.h"
#include "frame.h"
#include "rpc.h"

/* What is done with a frame: sent back as it is, or read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

struct service {
    struct events *events;  /* borrowed; tells the connections when they are ready */
    struct framing framing; /* FRAMING_LENGTH where app is APP_RPC */
    enum app app;
    struct stats stats;
};

#endif

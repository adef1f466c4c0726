/* What the server does for its clients. There is one, which all connections share. */
#ifndef SERVICE_H
#define SERVICE_H

#include "events/events.h"
#include "server/rpc.h"
#include "wire/frame.h"

/* What is done with a frame: it is sent back, or it is read as a message and answered. */
enum app { APP_ECHO, APP_RPC };

struct service {
    struct events *events;  /* borrowed; tells the connections when they are ready */
    struct framing framing; /* FRAMING_LENGTH if app is APP_RPC */
    enum app app;
    struct stats stats;
};

#endif

/* A graceful end: the server accepts no client any more, sends what it owes, and then ends.
 *
 * Nobody can be sure that a client will take what it is owed. So there is a deadline, `grace_ms`
 * after the request, and a second signal ends the server at once. */
#ifndef GRACE_H
#define GRACE_H

#include "server/server.h"

/* Lets all workers serve the connections that are open: each reads what has come, without waiting
 * for more, and is drained. Returns when the last one has ended, when grace_ms have passed, or when
 * a second signal has come. The listening socket must be closed. By the thread of the first
 * worker. */
void grace_serve(struct server *server);

#endif

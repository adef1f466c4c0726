/* A graceful end: the server accepts no client any more, sends what it owes, and then ends.
 *
 * Nobody can be sure that a client will take what it is owed. So there is a deadline, `grace_ms`
 * after the request, and a second signal ends the server at once. */
#ifndef GRACE_H
#define GRACE_H

#include "server/conn.h"
#include "server/server.h"

/* Lets all workers serve the connections that are open. Returns when the last one has ended, when
 * grace_ms have passed, or when a second signal has come. The listening socket must be closed. By
 * the thread of the first worker. */
void grace_serve(struct server *server);

/* To be called near the end of a turn, once frames have been answered. If the server ends, and this
 * connection owes nothing to its client, it is drained. It owes something while it has input that
 * it may not read or answer yet. The beginning of a frame does not count. */
void grace_look(struct conn *c);

#endif

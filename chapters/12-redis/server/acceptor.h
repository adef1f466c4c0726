/* Accepts clients while there is space for them, and gives each to a worker. The others wait in the
 * backlog of the listening socket: their connect() succeeds, and nothing that they send is lost.
 *
 * Two things can be full. There may be `max_conns` connections: then the next client is accepted
 * when a connection has ended. Or the process, or the system, has no descriptor left. No event
 * reports when one is free again, so accept() is tried again every ACCEPT_PAUSE_MS. After REFUSE_MS
 * in vain the clients that wait are told so, by a close, with a descriptor kept for this. */
#ifndef ACCEPTOR_H
#define ACCEPTOR_H

#include <stdbool.h>

#include "co/co_io.h"
#include "server/server.h"

/* Without a descriptor: the time between two tries, and the time until clients are turned away. */
enum { ACCEPT_PAUSE_MS = 100, REFUSE_MS = 3000 };

/* How many clients are accepted or turned away in one iteration at most: connected clients need not
 * wait for all of them. HAProxy 1.5 has the same limit (tune.maxaccept). */
enum { ACCEPT_BUDGET = 64 };

struct acceptor {
    struct server *server;   /* borrowed. The acceptor is part of the first worker: only its thread
                              * may use it */
    int next;                /* index of the worker that gets the next connection */
    struct co_socket socket; /* that listens; borrowed */
    int reserve_fd;          /* owned; to be closed when there is no other descriptor. -1: none */
    int failures;            /* how many tries in a row found no descriptor */
    bool full;               /* it waits for a connection to end */
    bool closing;            /* it is to end */
    struct coroutine *accepting; /* NULL: it has ended */
};

/* Accepts every client that waits, from now on until acceptor_close(), and gives the connections to
 * the workers in rotation. Borrows the listening socket and the server for that long. False: errno
 * has the reason. */
bool acceptor_open(struct acceptor *a, struct server *server, int listen_fd);
void acceptor_close(struct acceptor *a);

/* Accepts clients if connections have ended meanwhile. To be called once in each iteration. */
void acceptor_look(struct acceptor *a);

#endif

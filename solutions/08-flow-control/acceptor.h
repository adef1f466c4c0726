/* Lets clients in, as long as there is room for them. Those for whom there is none wait in the
 * backlog of the listening socket: their connect() succeeds, and nothing is lost of what they send.
 *
 * Two things can be full. There may be as many connections as `max_conns` allows: then the next one
 * is accepted when one has ended. Or the process, or the system, may have no descriptor left:
 * nobody tells when there is one again, so it is tried every now and then; and who has waited in
 * vain for REFUSE_MS is told so, by a close, with the descriptor that is kept for this. */
#ifndef ACCEPTOR_H
#define ACCEPTOR_H

#include <stdbool.h>

#include "service.h"
#include "timers.h"

/* How often it is tried again without a descriptor, and how long before clients are turned away. */
enum { ACCEPT_PAUSE_MS = 100, REFUSE_MS = 3000 };

/* The most clients that are let in within one turn: the others have theirs, too. The number is that
 * of HAProxy 1.5 (tune.maxaccept). */
enum { ACCEPT_BUDGET = 64 };

struct acceptor {
    struct service *service; /* borrowed */
    int listen_fd;           /* borrowed */
    int reserve_fd;          /* owned; to be closed when there is no other descriptor. -1: none */
    bool watched;            /* the listening socket is: there is room */
    int failures;            /* how often no descriptor was left, one time after the other */
    struct timer retry;      /* set while the next try is awaited */
};

/* Accepts everyone who waits, from now on until acceptor_close. Borrows the listening socket and
 * the service for that long. */
void acceptor_open(struct acceptor *a, int listen_fd, struct service *service);
void acceptor_close(struct acceptor *a);

/* Connections may have ended: lets in who can be let in. To be called once in a turn. */
void acceptor_look(struct acceptor *a);

#endif

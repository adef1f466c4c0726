/* One client's connection: a state machine that is called when its socket is ready, and never waits
 * itself. Frames come in and replies go out at the same time. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "server/limits.h"
#include "server/server.h"

/*      end of input, the client has broken a rule, or the server ends
 *     CONN_OPEN -----------------------------------------------> CONN_DRAINING
 *         |                                                        |      |
 *         |                 an error, every reply sent and no more |      | every reply sent, but
 *         |  an error       to be read, or too long without        |      | more is there to read
 *         |                 progress                               |      v
 *         |                                                        |  CONN_LINGERING
 *         v                                                        v      |
 *     CONN_CLOSED <-------------------------------------------------------+
 *                                  end of input, an error, or too long
 */
enum conn_state { CONN_OPEN, CONN_DRAINING, CONN_LINGERING, CONN_CLOSED };

/* How long a peer may take nothing of what it is owed; and how long, once it has got everything, it
 * may take to close. */
enum { LINGER_MS = 5000 };

/* What a connection needs while it ends, allocated then: an idle connection does without. */
struct closing {
    const char *reason; /* why the connection is draining */
    struct timer timer; /* set while it is the peer that has to act */
    int unsent;         /* what the kernel had for the peer when the timer was set */
};

struct conn {
    /* Set by conn_open(), and never changed. */
    struct watch watch;      /* of its socket, which is nonblocking and owned */
    struct server *server;   /* borrowed */
    LIST_ENTRY(conn) others; /* its entry in the server's list of connections */

    /* How far the connection is: only conn.c writes this. */
    enum conn_state state;
    struct closing *closing; /* owned; NULL until it is draining */
    bool readable;           /* reported, and read() has not said since that nothing is left */
    bool writable;           /* false: no more fitted, and no space was reported since */
    bool ending;             /* EVENT_HANGUP was reported: read until nothing comes */
    bool ended;              /* EOF has been read */

    /* Its limits for now: only flow.c writes this. */
    bool suspended;  /* the output has reached high water, and not come down to low water since */
    unsigned budget; /* what it may still do in this turn, in bytes to be sent */

    /* Its bytes: conn.c reads and sends them, answer.c makes output of input. */
    struct buffer in;  /* a partial frame, or frames that have to wait */
    size_t seen;       /* how much of `in` the parser has looked through; see frame_parse() */
    struct buffer out; /* replies that the kernel has not taken yet */

    /* Each is written by its own module; conn.c makes and frees it. */
    struct alarms *alarms;     /* owned; NULL unless --app rpc */
    struct timeouts *timeouts; /* owned; NULL without time-outs */
    struct quota *quota;       /* owned; NULL without a quota */
};

/* Takes over a socket just accepted, and serves it whenever it is ready, until it is closed: by the
 * peer, for an error, by a time-out, or by conn_close_all. Borrows the server until then. False: no
 * memory; the caller still owns the socket. */
bool conn_open(int fd, struct server *server);

/* Closes all connections of the server. */
void conn_close_all(struct server *server);

/* Takes no more input. Replies that are owed are sent, then the connection ends for this reason. */
void conn_drain(struct conn *c, const char *reason);

/* Marks the connection as closed and logs why. It is freed at the end of its turn. */
void conn_close(struct conn *c, const char *reason);

/* Gives the connection a turn in the next iteration, whether or not something is reported. */
static inline void conn_again(struct conn *c)
{
    events_again(c->server->events, &c->watch);
}

#endif

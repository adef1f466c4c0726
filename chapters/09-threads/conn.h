/* One client's connection: a state machine that is called when its socket is ready, and never waits
 * itself. Frames come in and replies go out at the same time. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "alarms.h"
#include "buffer.h"
#include "closing.h"
#include "quota.h"
#include "reader.h"
#include "service.h"
#include "timeouts.h"

/*                end of input, or the client has broken a rule
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

struct broadcast;

struct conn {
    int fd; /* nonblocking; owned */
    enum conn_state state;
    bool ending;               /* the peer has sent its last byte; read until EOF */
    bool ended;                /* and that has been read */
    bool suspended;            /* the output has been above high water, and not down to low since */
    size_t budget;             /* what may still be done in this turn, in bytes to be sent */
    struct service *service;   /* borrowed; shared by all connections */
    struct buffer in;          /* what is left over: a partial frame, or frames that have to wait */
    size_t seen;               /* of it, what the parser has looked through; see frame_parse */
    struct buffer out;         /* replies that the kernel has not taken yet */
    const char *reason;        /* why it is draining */
    LIST_ENTRY(conn) others;   /* its entry in the service's list of connections */
    struct alarms *alarms;     /* owned; NULL unless --app rpc */
    struct timeouts *timeouts; /* owned; NULL without time-outs */
    struct quota *quota;       /* owned; NULL where frames are not counted */
    struct closing *closing;   /* owned; NULL until it is draining */
    struct broadcast *broadcast; /* borrowed; its own, whose answer is awaited; or NULL */
};

/* Takes over a socket just accepted, and serves it whenever it is ready, until it is closed: by the
 * peer, for an error, or by a time-out. Borrows the service until then. False: no memory; the
 * caller still owns the socket. */
bool conn_open(int fd, struct service *service);

/* Closes all connections of the service. */
void conn_close_all(struct service *service);

/* Takes no more input; what is owed is still sent. Then the connection is closed, for this
 * reason. */
void conn_drain(struct conn *c, const char *reason);

/* The same where the client has broken a rule: replies for later are not owed to it. */
void conn_give_up(struct conn *c, const char *reason);

/* Sends a message that somebody has broadcast. False: it will not get there. */
bool conn_push(struct conn *c, struct bytes text);

/* Its own broadcast has reached so many connections. */
void conn_broadcast_done(struct conn *c, int32_t seq, int32_t reached);

/* Marks the connection as closed and logs why. It is freed at the end of the callback. */
void conn_close(struct conn *c, const char *reason);

#endif

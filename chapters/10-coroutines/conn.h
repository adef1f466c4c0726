/* One client's connection: a coroutine that reads, answers and sends, one after the other, and a
 * second one that sends what the client does not take at once, while there is something of that. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "alarms.h"
#include "buffer.h"
#include "co_io.h"
#include "quota.h"
#include "reader.h"
#include "service.h"
#include "timeouts.h"

/* Whether a connection goes on, and if not, what is still done for it. */
enum conn_end {
    CONN_GOES_ON,
    CONN_DRAINS,   /* what it is owed is sent, also what becomes due later */
    CONN_GIVEN_UP, /* it has broken a rule: what it is owed now is sent */
    CONN_BROKEN    /* nothing more */
};

struct broadcast;

struct conn {
    struct co_socket socket; /* its descriptor is nonblocking; owned */
    struct service *service; /* borrowed; shared by all connections of its loop */
    enum conn_end end;
    const char *reason;      /* of the end */
    bool ended;              /* the end of the input has been read */
    bool suspended;          /* the output has been above high water, and not down to low since */
    struct buffer in;        /* what is left over: a partial frame, or frames that have to wait */
    size_t seen;             /* of it, what the parser has looked through; see frame_parse */
    struct buffer out;       /* replies that the kernel has not taken yet */
    LIST_ENTRY(conn) others; /* its entry in the service's list of connections */
    struct timeouts timeouts;
    struct alarms *alarms;       /* owned; NULL unless --app rpc */
    struct quota *quota;         /* owned; NULL where frames are not counted */
    struct broadcast *broadcast; /* borrowed; its own, whose answer is awaited; or NULL */
    struct coroutine *serving;   /* NULL: it has ended */
    struct coroutine *sending;   /* NULL: all that can be sent has been */
};

/* Takes over a socket just accepted, and serves it until it is closed: by the peer, for an error,
 * or for a time that has run out. Borrows the service for that long. False: no memory; the caller
 * still owns the socket. */
bool conn_open(int fd, struct service *service);

/* Closes all connections of the service. Outside of its coroutines. */
void conn_close_all(struct service *service);

/* Sends what the kernel takes now; if that is not all, a coroutine sends the rest. */
void conn_send(struct conn *c);

/* Sends a message that somebody has broadcast. False: it will not get there. */
bool conn_push(struct conn *c, struct bytes text);

/* Its own broadcast has reached so many connections. */
void conn_broadcast_done(struct conn *c, int32_t seq, int32_t reached);

/* Ends the connection, as soon as its coroutine goes on: nothing more is sent. Of several reasons
 * the first is logged. */
void conn_close(struct conn *c, const char *reason);

/* The rest is for its coroutines. */

/* The connection comes to an end; if it is coming to a worse one already, nothing changes. */
void conn_end(struct conn *c, enum conn_end end, const char *reason);

/* What it has asked for will not be sent later. */
void conn_forget_later(struct conn *c);

/* To be called by each of them when it ends, with its place in the connection NULL. The last one
 * frees the connection. */
void conn_leave(struct conn *c);

#endif

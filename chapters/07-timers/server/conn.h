/* One client's connection: a state machine that is called when its socket is ready, and never waits
 * itself. Frames come in and replies go out at the same time. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "server/limits.h"
#include "server/service.h"

/*                end of input, or a frame too long
 *     CONN_OPEN -----------------------------------> CONN_DRAINING
 *         |                                               |
 *         |  an error                                     |  every reply sent, or an error
 *         v                                               |
 *     CONN_CLOSED <---------------------------------------+
 */
enum conn_state { CONN_OPEN, CONN_DRAINING, CONN_CLOSED };

struct conn {
    int fd; /* nonblocking; owned */
    enum conn_state state;
    bool ending;               /* EVENT_HANGUP was reported: read until nothing comes */
    struct service *service;   /* borrowed; shared by all connections */
    struct buffer in;          /* not answered yet: a partial frame, or frames that have to wait */
    size_t seen;               /* how much of `in` the parser has searched; see frame_parse */
    struct buffer out;         /* replies that the kernel has not taken yet */
    const char *reason;        /* why it is draining */
    LIST_ENTRY(conn) others;   /* its entry in the service's list of connections */
    struct alarms *alarms;     /* owned; NULL unless --app rpc */
    struct timeouts *timeouts; /* owned; NULL without time-outs */
};

/* Takes over a socket just accepted, and serves it whenever it is ready, until it is closed: by the
 * peer, for an error, or by a time-out. Borrows the service until then. False: no memory; the
 * caller still owns the socket. */
bool conn_open(int fd, struct service *service);

/* Closes all connections of the service. */
void conn_close_all(struct service *service);

/* How many bytes of replies may be added until the output is full. Back-pressure: a client that
 * does not take its replies gets no further ones. */
size_t conn_room(const struct conn *c);

/* Marks the connection as closed and logs why. It is freed at the end of the callback. */
void conn_close(struct conn *c, const char *reason);

#endif

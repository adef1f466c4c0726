/* One client's connection: a state machine that is called when its socket is ready, and never waits
 * itself. Frames come in and replies go out at the same time. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "server/limits.h"
#include "server/server.h"

/*                end of input, or a frame too long
 *     CONN_OPEN -----------------------------------> CONN_DRAINING
 *         |                                               |
 *         |  an error                                     |  every reply sent, or an error
 *         v                                               |
 *     CONN_CLOSED <---------------------------------------+
 */
enum conn_state { CONN_OPEN, CONN_DRAINING, CONN_CLOSED };

struct conn {
    struct watch watch;      /* of its socket, which is nonblocking and owned */
    struct server *server;   /* borrowed */
    LIST_ENTRY(conn) others; /* its entry in the server's list of connections */
    enum conn_state state;
    bool readable;             /* reported, and read() has not said since that nothing is left */
    bool writable;             /* false: no more fitted, and no space was reported since */
    bool ending;               /* EVENT_HANGUP was reported: read until nothing comes */
    struct buffer in;          /* not answered yet: a partial frame, or frames that have to wait */
    size_t seen;               /* how much of `in` the parser has searched; see frame_parse */
    struct buffer out;         /* replies that the kernel has not taken yet */
    const char *reason;        /* why it is draining */
    struct alarms *alarms;     /* owned; NULL unless --app rpc */
    struct timeouts *timeouts; /* owned; NULL without time-outs */
};

/* Takes over a socket just accepted, and serves it whenever it is ready, until it is closed: by the
 * peer, for an error, by a time-out, or by conn_close_all. Borrows the server until then. False: no
 * memory; the caller still owns the socket. */
bool conn_open(int fd, struct server *server);

/* Closes all connections of the server. */
void conn_close_all(struct server *server);

/* How many bytes of replies may be added until the output is full. Back-pressure: a client that
 * does not take its replies gets no further ones. */
size_t conn_room(const struct conn *c);

/* Marks the connection as closed and logs why. It is freed at the end of its turn. */
void conn_close(struct conn *c, const char *reason);

/* Gives the connection a turn in the next iteration, whether or not something is reported. */
static inline void conn_again(struct conn *c)
{
    events_again(c->server->events, &c->watch);
}

#endif

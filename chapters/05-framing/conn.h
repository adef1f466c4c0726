/* One client's connection: a state machine that says what it waits for, is called when that is
 * ready, and never waits itself. Frames come in and replies go out at the same time. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "service.h"

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
    struct service *service; /* borrowed; shared by all connections */
    struct buffer in;        /* not answered yet: a partial frame, or frames that have to wait */
    size_t seen;             /* how much of `in` the parser has searched; see frame_parse */
    struct buffer out;       /* replies that the kernel has not taken yet */
    const char *reason;      /* why it is draining */
};

/* Makes a connection for a socket just accepted, and owns that socket from then on. NULL: no
 * memory; the caller still owns the socket. */
struct conn *conn_new(int fd, struct service *service);

/* The interest of a connection: what it waits for. */
enum { CONN_WANT_READ = 1, CONN_WANT_WRITE = 2 };

/* Returns CONN_WANT_READ and CONN_WANT_WRITE as bits; 0 once the connection is closed. */
unsigned conn_interest(const struct conn *c);

/* Reads once and answers. To be called when the socket is readable. Does nothing unless the
 * connection wants to read: the event may be older than the state. */
void conn_read(struct conn *c);

/* Writes, and answers the frames that had to wait. To be called when the socket is writable. Does
 * nothing unless the connection wants to write. */
void conn_write(struct conn *c);

/* How many bytes of replies may be added until the output is full. Back-pressure: a client that
 * does not take its replies gets no further ones. */
size_t conn_room(const struct conn *c);

/* Marks the connection as closed and logs the reason. Its owner frees it later, with conn_free. */
void conn_close(struct conn *c, const char *reason);

/* Closes the socket and frees everything. */
void conn_free(struct conn *c);

#endif

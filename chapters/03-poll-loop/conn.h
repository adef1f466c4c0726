/* One client's connection: a state machine that says what it waits for, is called when that is
 * ready, and never waits itself. It holds one frame: first the request as it comes in, then the
 * same bytes as the reply. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"

/*                 frame complete
 *     CONN_READING ------------> CONN_WRITING
 *        |    ^                    |    |
 *        |    +--------------------+    |
 *        |          reply sent          |
 *        v                              v
 *     CONN_CLOSED <---------------------+      end of input, an error, a frame too long
 */
enum conn_state { CONN_READING, CONN_WRITING, CONN_CLOSED };

struct conn {
    int fd; /* nonblocking; owned */
    enum conn_state state;
    struct buffer frame; /* header and body */
    size_t sent;         /* bytes of `frame` that the kernel has taken */
};

/* Makes a connection for a socket just accepted, and owns that socket from then on. NULL: no
 * memory; the caller still owns the socket. */
struct conn *conn_new(int fd);

/* The interest of a connection: what it waits for. */
enum { CONN_WANT_READ = 1, CONN_WANT_WRITE = 2 };

/* Returns CONN_WANT_READ, CONN_WANT_WRITE or, once the connection is closed, 0. */
unsigned conn_interest(const struct conn *c);

/* Reads once. To be called when the socket is readable. Does nothing unless the connection wants to
 * read: the event may be older than the state. */
void conn_read(struct conn *c);

/* Writes once. To be called when the socket is writable. Does nothing unless the connection wants
 * to write. */
void conn_write(struct conn *c);

/* Marks the connection as closed and logs the reason. Its owner frees it later, with conn_free. */
void conn_close(struct conn *c, const char *reason);

/* Closes the socket and frees everything. */
void conn_free(struct conn *c);

#endif

/* One client's connection: a state machine that is moved on whenever its turn comes, and never
 * waits. It holds one frame: the request while it comes in, then the same bytes as the reply. */
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

/* A connection on a socket just accepted, which it owns from then on. NULL: no memory; the caller
 * still owns the socket. */
struct conn *conn_new(int fd);

/* Does what can be done now, at most one read or one write. True: something moved, so that another
 * step may be worth while. */
bool conn_step(struct conn *c);

/* Marks the connection as done and logs why. Whoever holds it frees it with conn_free. */
void conn_close(struct conn *c, const char *reason);

/* Closes the socket and frees everything. */
void conn_free(struct conn *c);

#endif

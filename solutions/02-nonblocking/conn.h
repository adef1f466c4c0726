/* One client's connection: a state machine that does one step at a time, and never waits. It holds
 * one frame: first the request as it comes in, then the same bytes as the reply. */
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

/* Does what can be done now: at most one read or one write. True: something has changed, so another
 * step may do more. */
bool conn_step(struct conn *c);

/* Marks the connection as closed and logs the reason. Its owner frees it later, with conn_free. */
void conn_close(struct conn *c, const char *reason);

/* Closes the socket and frees everything. */
void conn_free(struct conn *c);

#endif

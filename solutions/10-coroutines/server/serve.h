/* Serving a client, from its first frame to the last. It reads like the code of a server that
 * blocks and serves one client after the other, but it runs for all clients at the same time. */
#ifndef SERVE_H
#define SERVE_H

/* The function of a connection's coroutine. The argument is a struct conn. */
void serve(void *conn);

#endif

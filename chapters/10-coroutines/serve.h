/* Serving a client, told from the first line to the last: what a server that blocks does with one
 * client after the other, for all of them at a time. */
#ifndef SERVE_H
#define SERVE_H

/* The coroutine of a connection, from its first frame to its end. The argument is a struct conn. */
void serve(void *conn);

#endif

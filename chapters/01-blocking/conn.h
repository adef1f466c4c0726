/* One client's connection. */
#ifndef CONN_H
#define CONN_H

/* Echoes the frames of one client until it is done, breaks the protocol or is gone, or the server
 * is to stop; logs why. Blocks. The caller still owns the descriptor. */
void conn_serve(int fd);

#endif

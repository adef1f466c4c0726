/* One client's connection. */
#ifndef CONN_H
#define CONN_H

/* Echoes the frames of one client until it has sent its last one, breaks the protocol or is gone,
 * or a stop is requested; then logs the reason. Blocks. The caller still owns the descriptor. */
void conn_serve(int fd);

#endif

/* Sockets: listening and accepting. The caller owns each descriptor returned here and closes it. */
#ifndef NET_H
#define NET_H

#include <netinet/in.h>

/* A TCP socket that listens on `address`. Returns its descriptor, or -1: errno has the reason. */
int net_listen(const struct sockaddr_in *address);

/* Prints "listening on ADDR:PORT" on stdout: the port that was bound, even if the option said 0. */
void net_announce(int listen_fd);

/* Waits for the next client. Returns its descriptor, or -1 if this attempt gave none: a signal
 * came, the client has already gone, or descriptors have run out. Call again in every case. After
 * an error that is likely to last, this function waits a little before it returns. */
int net_accept(int listen_fd);

#endif

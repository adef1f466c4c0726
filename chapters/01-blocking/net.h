/* Sockets: listening and accepting. Whoever gets a descriptor from here owns it and closes it. */
#ifndef NET_H
#define NET_H

#include <netinet/in.h>

/* A TCP socket that listens on `address`. Returns its descriptor, or -1: errno has the reason. */
int net_listen(const struct sockaddr_in *address);

/* Prints "listening on ADDR:PORT" on stdout: the port that was bound, also when 0 was asked for. */
void net_announce(int listen_fd);

/* Waits for the next client. Returns its descriptor, or -1 when this attempt gave none: the client
 * has gone again, a signal came, or descriptors have run out. Call again in every case; where
 * calling again at once would only burn the processor, this function has waited a little. */
int net_accept(int listen_fd);

#endif

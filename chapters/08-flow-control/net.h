/* Sockets: listening and accepting, all of them nonblocking. Whoever gets a descriptor from here
 * owns it and closes it. */
#ifndef NET_H
#define NET_H

#include <netinet/in.h>

/* What net_accept returns in place of a descriptor. */
enum {
    NET_NONE = -1, /* nobody is waiting */
    NET_FULL = -2, /* somebody may be, but the system has no descriptor or no memory for him now */
};

/* A TCP socket that listens on `address`. Returns its descriptor, or -1: errno has the reason. */
int net_listen(const struct sockaddr_in *address);

/* Prints "listening on ADDR:PORT" on stdout: the port that was bound, also when 0 was asked for. */
void net_announce(int listen_fd);

/* Accepts the next client that waits. Returns its descriptor, NET_NONE or NET_FULL. */
int net_accept(int listen_fd);

/* How many bytes the kernel has taken for the peer that the peer's kernel has not got yet. */
int net_unsent(int fd);

#endif

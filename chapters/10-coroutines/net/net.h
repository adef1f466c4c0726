/* Sockets: listening and accepting, all of them nonblocking. The caller owns each descriptor
 * returned here and closes it. */
#ifndef NET_H
#define NET_H

#include <netinet/in.h>

/* What net_accept returns in place of a descriptor. */
enum {
    NET_NONE = -1, /* no client is waiting */
    NET_FULL = -2, /* one may be waiting, but there is no descriptor or no memory for it now */
};

/* A TCP socket that listens on `address`. Returns its descriptor, or -1: errno has the reason. */
int net_listen(const struct sockaddr_in *address);

/* Prints "listening on ADDR:PORT" on stdout: the port that was bound, even if the option said 0. */
void net_announce(int listen_fd);

/* Accepts the next client that waits. Returns its descriptor, NET_NONE or NET_FULL. */
int net_accept(int listen_fd);

/* How many bytes the kernel has taken for the peer that the peer's kernel has not got yet. */
int net_unsent(int fd);

/* How many bytes have arrived on the socket and have not been read. */
int net_unread(int fd);

/* Why a connection is broken, as an errno; 0: it is not. The next call returns 0. */
int net_error(int fd);

#endif

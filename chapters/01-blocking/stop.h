/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * A flag alone is not enough. If the signal arrives just before accept() or read() blocks, the flag
 * is set, and the server still waits. So the handler also shuts down the watched sockets. Then a
 * call on one of them no longer blocks: accept() returns an error, read() returns 0 for the end of
 * the input, send() returns EPIPE. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers, and ignores SIGPIPE. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

/* Watches a socket that the server is about to block on; at most two at a time. The caller still
 * owns the socket, and must call stop_unwatch before it closes the socket. */
void stop_watch(int fd);
void stop_unwatch(int fd);

#endif

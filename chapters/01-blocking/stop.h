/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * A flag alone is not enough: a signal that arrives just before accept() or read() blocks would set
 * the flag and leave the server waiting. So the handler also shuts the watched sockets down, and a
 * call that blocks on one of them, now or a moment later, returns at once: accept() with an error,
 * read() with the end of the input, send() with EPIPE. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

/* Watches a socket that the server is about to block on; at most two at a time. Whoever opened the
 * socket still owns it, and must call stop_unwatch before closing it. */
void stop_watch(int fd);
void stop_unwatch(int fd);

#endif

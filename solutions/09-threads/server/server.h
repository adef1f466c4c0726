/* The server: one loop a thread, each for its own part of the clients. */
#ifndef SERVER_H
#define SERVER_H

#include "server/service.h"

/* Serves clients until the event manager of the first loop is stopped; the loops have no threads
 * any more then. The first loop runs in the calling thread, which also accepts. The caller still
 * owns the listening socket. False: no threads; errno has the reason. */
bool server_run(int listen_fd, struct services *all);

#endif

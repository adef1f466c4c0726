/* The server: which clients are served, and in what order. Here: those that the event manager
 * reports ready. */
#ifndef SERVER_H
#define SERVER_H

#include "server/service.h"

/* Serves clients until the service's event manager is stopped, then closes their connections. The
 * caller still owns the listening socket. */
void server_run(int listen_fd, struct service *service);

#endif

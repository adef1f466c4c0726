/* The server: which clients are served, and in what order. Here: those that poll() reports. */
#ifndef SERVER_H
#define SERVER_H

#include "service.h"

/* Serves clients until SIGTERM or SIGINT. The caller still owns the listening socket. */
void server_run(int listen_fd, struct service *service);

#endif

/* The server: who is served, and in what order. Here: everyone in turn, round and round. */
#ifndef SERVER_H
#define SERVER_H

/* Serves clients until SIGTERM or SIGINT. The caller still owns the listening socket. */
void server_run(int listen_fd);

#endif

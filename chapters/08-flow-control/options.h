/* The options of the server. options.c has a table of them. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "events/backend.h"
#include "server/server.h"

struct options {
    struct sockaddr_in address;    /* where to listen; port 0: any free port */
    bool verbose;                  /* a log line for every frame */
    const struct backend *backend; /* by default backend_epoll */
    struct config config;          /* with the defaults that options_parse() sets */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage on stderr. */
void options_usage(const char *program);

#endif

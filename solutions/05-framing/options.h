/* The options of the server. options.c has a table of them. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "service.h"

struct options {
    struct sockaddr_in address; /* where to listen; port 0: any free port */
    bool verbose;               /* a log line for every frame */
    struct framing framing;     /* by default FRAMING_LENGTH */
    enum app app;               /* by default APP_ECHO */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage on stderr. */
void options_usage(const char *program);

#endif

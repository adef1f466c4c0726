/* The command line: server [-a ADDR] [-p PORT] [-v] */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

struct options {
    struct sockaddr_in address; /* where to listen; port 0: any free port */
    bool verbose;               /* a log line for every frame */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage line on stderr. */
void options_usage(const char *program);

#endif

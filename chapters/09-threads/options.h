/* The command line: server [-a ADDR] [-p PORT] [-v] [--framing length|line|fixed:N]
 *                         [--app echo|rpc] [--backend select|poll|epoll]
 *                         [--idle-timeout MS] [--frame-timeout MS] [--quota N/MS]
 *                         [--high-water BYTES] [--low-water BYTES] [--max-conns N] [--grace MS]
 *                         [--threads N] */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "events/backend.h"
#include "server/server.h"

struct options {
    struct sockaddr_in address;    /* where to listen; port 0: any free port */
    bool verbose;                  /* a log line for every frame */
    struct framing framing;        /* by default FRAMING_LENGTH */
    enum app app;                  /* by default APP_ECHO */
    const struct backend *backend; /* by default backend_epoll */
    struct limits limits;          /* by default high_water is 1 MiB, low_water half of high_water,
                                    * and no other limit is set */
    int32_t grace_ms;              /* how long it may take to end; by default 0: it ends at once */
    int threads;                   /* by default as many as there are processors for us */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage line on stderr. */
void options_usage(const char *program);

#endif

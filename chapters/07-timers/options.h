/* The command line: server [-a ADDR] [-p PORT] [-v] [--framing length|line|fixed:N]
 *                         [--app echo|rpc] [--backend select|poll|epoll]
 *                         [--idle-timeout MS] [--frame-timeout MS] */
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
    int32_t idle_timeout_ms;       /* 0: none, the default */
    int32_t frame_timeout_ms;      /* 0: none, the default */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage line on stderr. */
void options_usage(const char *program);

#endif

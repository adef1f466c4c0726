/* The command line: server [-a ADDR] [-p PORT] [-v] [--framing length|line|fixed:N]
 *                         [--app echo|rpc|redis] [--backend select|poll|epoll]
 *                         [--idle-timeout MS] [--frame-timeout MS] [--quota N/MS]
 *                         [--high-water BYTES] [--low-water BYTES] [--max-conns N] [--grace MS]
 *                         [--threads N] [--stack BYTES] [--io uring|epoll] */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <netinet/in.h>
#include <stdbool.h>

#include "events/backend.h"
#include "server/server.h"

/* How bytes are moved: by operations that complete, or by calls when a descriptor is ready. */
enum moves { MOVES_EITHER, MOVES_URING, MOVES_EPOLL };

struct options {
    struct sockaddr_in address;    /* where to listen; port 0: any free port */
    bool verbose;                  /* a log line for every frame */
    struct framing framing;        /* by default FRAMING_LENGTH */
    const struct app *app;         /* by default app_echo */
    enum moves moves;              /* by default MOVES_EITHER: io_uring if the kernel has it */
    const struct backend *backend; /* to tell readiness: by default backend_epoll */
    struct limits limits;          /* by default high_water is 1 MiB, low_water half of high_water,
                                    * and no other limit is set */
    int32_t grace_ms;              /* how long it may take to end; by default 0: it ends at once */
    size_t stack_bytes;            /* of a coroutine, by default 64 KiB */
    int threads;                   /* by default as many as there are processors for us, but 1
                                    * with app_redis */
};

/* Fills `options` from the command line and the defaults. False: wrong usage. */
bool options_parse(struct options *options, int argc, char **argv);

/* Prints the usage line on stderr. */
void options_usage(const char *program);

#endif

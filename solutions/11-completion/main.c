/* Reads the options, listens, and serves until a signal tells it to stop. */

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "events/stop.h"
#include "net/net.h"
#include "options.h"
#include "server/server.h"

/* Free memory of this size or more goes back to the kernel. By default malloc() raises the limit
 * whenever a larger block is freed, up to 64 MiB: see mallopt(3). */
#define KEPT_BYTES (3 << 20)

/* Opens the loops: on io_uring unless readiness is wanted, or all that this kernel has. */
static void open_server(struct server *server, const struct options *options)
{
    const struct config *config = &options->config;
    // BEGIN open
    int count = options->threads;
    if (options->moves != MOVES_EPOLL) {
        if (server_open(server, config, count, &backend_uring))
            return;
        if (options->moves == MOVES_URING)
            die("no io_uring here");
        log_line("no io_uring here: %s; uses %s", strerror(errno), options->backend->name);
    }
    if (!server_open(server, config, count, options->backend))
        die("loops");
    // END open
}

int main(int argc, char **argv)
{
    struct options options;
    if (!options_parse(&options, argc, argv)) {
        options_usage(argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a write to a log that nobody reads any more fails instead */
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES); /* a larger block goes back when it is freed, */
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES); /* and so does a larger free end of the heap */
    log_open(options.verbose);
    struct server server;
    open_server(&server, &options);
    stop_install(server.workers[0].loop.events);

    int listen_fd = net_listen(&options.address);
    if (listen_fd < 0)
        die("cannot listen");
    net_announce(listen_fd);
    if (!server_run(&server, listen_fd))
        die("cannot serve");
    server_stop(&server);
    stop_uninstall(); /* the handler may run in any thread, so the threads have ended */
    server_close(&server);
    return EXIT_SUCCESS;
}

/* Reads the options, listens, and serves until a signal tells it to stop. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "events/stop.h"
#include "net/net.h"
#include "options.h"
#include "server/server.h"

/* Opens the loops: on io_uring unless readiness is wanted, or all that this kernel has. */
static void open_services(struct services *services, const struct options *options,
                          const struct service *like)
{
    /* TODO 8: Use io_uring unless readiness is wanted, and readiness where the kernel does not
     * have it. Graded by test_11_uses_the_ring_by_default.
     * With `--io uring` there is no other choice: then the reason is the end of the server.
     * Otherwise it is a line in the log. */
    const struct backend *backend =
        options->moves == MOVES_URING ? &backend_uring : options->backend;
    if (!services_open(services, options->threads, backend, options->stack_bytes, like))
        die("loops");
}

int main(int argc, char **argv)
{
    struct options options;
    if (!options_parse(&options, argc, argv)) {
        options_usage(argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* a write to a log that nobody reads any more fails instead */
    log_open(options.verbose);
    struct service like = {
        .framing = options.framing,
        .app = options.app,
        .limits = options.limits,
    };
    struct services services;
    open_services(&services, &options, &like);
    stop_install(services.each[0].loop.events);

    int listen_fd = net_listen(&options.address);
    if (listen_fd < 0)
        die("cannot listen");
    net_announce(listen_fd);
    if (!server_run(listen_fd, &services))
        die("cannot serve");
    close(listen_fd);
    stop_uninstall();
    services_close(&services);
    return EXIT_SUCCESS;
}

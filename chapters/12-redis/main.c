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
#include "server/app.h"
#include "server/server.h"

/* Opens the loops: on io_uring unless readiness is wanted, or all that this kernel has. */
static void open_services(struct services *services, const struct options *options,
                          const struct service *like)
{
    int count = options->threads;
    size_t stack_bytes = options->stack_bytes;
    if (options->moves != MOVES_EPOLL) {
        if (services_open(services, count, &backend_uring, stack_bytes, like))
            return;
        if (options->moves == MOVES_URING)
            die("no io_uring here");
        log_line("no io_uring here: %s; uses %s", strerror(errno), options->backend->name);
    }
    if (!services_open(services, count, options->backend, stack_bytes, like))
        die("loops");
}

/* Makes what the clients of each loop share. */
static void start_app(const struct app *app, struct services *services)
{
    for (int i = 0; i < services->count; i++)
        if (app->start != NULL && !app->start(&services->each[i]))
            die(app->name);
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
    start_app(options.app, &services);
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

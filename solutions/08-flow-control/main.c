/* Reads the options, listens, and serves until a signal tells it to stop. */

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "events/events.h"
#include "events/stop.h"
#include "events/timers.h"
#include "net/net.h"
#include "options.h"
#include "server/server.h"

/* Free memory of this size or more goes back to the kernel. By default malloc() raises the limit
 * whenever a larger block is freed, up to 64 MiB: see mallopt(3). */
#define KEPT_BYTES (3 << 20)

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
    struct events *events = events_new(options.backend);
    if (events == NULL)
        die("events");
    struct timers *timers = timers_new();
    if (timers == NULL)
        die("timers");
    stop_install(events);

    int listen_fd = net_listen(&options.address);
    if (listen_fd < 0)
        die("cannot listen");
    net_announce(listen_fd);

    struct server server = {.config = &options.config, .events = events, .timers = timers};
    server_run(&server, listen_fd);
    stop_uninstall();
    timers_free(timers);
    events_free(events);
    return EXIT_SUCCESS;
}

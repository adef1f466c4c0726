/* Reads the options, listens, and serves until a signal tells it to stop. */

#include <stdlib.h>
#include <unistd.h>

#include "log.h"
#include "net.h"
#include "options.h"
#include "server.h"
#include "stop.h"

int main(int argc, char **argv)
{
    struct options options;
    if (!options_parse(&options, argc, argv)) {
        options_usage(argv[0]);
        return 2;
    }
    log_open(options.verbose);
    stop_install();

    int listen_fd = net_listen(&options.address);
    if (listen_fd < 0)
        die("cannot listen");
    net_announce(listen_fd);

    server_run(listen_fd);
    close(listen_fd);
    return EXIT_SUCCESS;
}

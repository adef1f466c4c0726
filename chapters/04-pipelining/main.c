/* Reads the options, listens, and serves until a signal tells it to stop. */

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "log.h"
#include "net.h"
#include "options.h"
#include "server.h"
#include "stop.h"

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
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES); /* a larger block goes back when it is freed, */
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES); /* and so does a larger free end of the heap */
    log_open(options.verbose);
    stop_install();

    int listen_fd = net_listen(&options.address);
    if (listen_fd < 0)
        die("cannot listen");
    net_announce(listen_fd);

    server_run(listen_fd);
    close(listen_fd);
    stop_uninstall();
    return EXIT_SUCCESS;
}

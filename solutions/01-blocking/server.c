#include "server.h"

#include <unistd.h>

#include "conn.h"
#include "net.h"
#include "stop.h"

// BEGIN accept_loop
/* Serves one client until its connection is over. */
static void serve_client(int fd)
{
    stop_watch(fd);
    conn_serve(fd);
    stop_unwatch(fd);
    close(fd);
}

void server_run(int listen_fd)
{
    stop_watch(listen_fd);
    while (!stop_requested()) {
        int fd = net_accept(listen_fd);
        if (fd >= 0)
            serve_client(fd);
    }
    stop_unwatch(listen_fd);
}
// END accept_loop

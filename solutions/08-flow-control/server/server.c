#include "server/server.h"

#include <unistd.h>

#include "base/log.h"
#include "events/stop.h"
#include "server/acceptor.h"
#include "server/conn.h"
#include "server/grace.h"

void server_run(struct server *server, int listen_fd)
{
    struct acceptor acceptor;
    if (!acceptor_open(&acceptor, server, listen_fd))
        die("listener");
    while (!stop_requested()) {
        events_turn(server->events, timers_timeout(server->timers));
        timers_run(server->timers);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    close(listen_fd); /* from now on connect() is refused */
    if (server->config->grace_ms > 0)
        grace_serve(server);
    conn_close_all(server);
}

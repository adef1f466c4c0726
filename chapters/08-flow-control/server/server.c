#include "server/server.h"

#include "base/log.h"
#include "server/acceptor.h"
#include "server/conn.h"

void server_run(struct server *server, int listen_fd)
{
    struct acceptor acceptor;
    if (!acceptor_open(&acceptor, server, listen_fd))
        die("listener");
    while (!events_stopping(server->events)) {
        events_turn(server->events, timers_timeout(server->timers));
        timers_run(server->timers);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    conn_close_all(server);
}

#include "server/server.h"

#include "server/acceptor.h"
#include "server/conn.h"

void server_run(int listen_fd, struct service *service)
{
    struct acceptor acceptor;
    acceptor_open(&acceptor, listen_fd, service);
    while (!events_stopping(service->events)) {
        events_turn(service->events, timers_timeout(service->timers));
        timers_run(service->timers);
        acceptor_look(&acceptor);
    }
    acceptor_close(&acceptor);
    conn_close_all(service);
}

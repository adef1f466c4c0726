#include "server/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net.h"
#include "server/conn.h"

enum { ACCEPT_PAUSE_MS = 100 };

struct server {
    struct service *service;
    int listen_fd;
    bool full; /* the last accept found no descriptor left; the listener is not watched */
};

/* Accepts every client that waits. With no descriptor left the listener stays readable, and some
 * backends would report that at once and for ever. So it is not watched until a client could be
 * accepted. Each iteration tries again, when a client has done something (such as leaving) or after
 * a pause. */
static void accept_clients(struct server *s)
{
    int fd;
    while ((fd = net_accept(s->listen_fd)) >= 0) {
        if (!conn_open(fd, s->service)) {
            log_line("fd %d: closed: out of memory", fd);
            close(fd);
        }
    }
    if (fd == NET_FULL && !s->full)
        log_line("accept: %s; new clients wait", strerror(errno));
    s->full = fd == NET_FULL;
}

static void on_listener(struct events *events, int fd, unsigned what, void *context)
{
    struct server *s = context;
    if (what & EVENT_CANCELLED)
        return;
    accept_clients(s);
    if (s->full)
        events_del(events, fd, EVENT_READ);
}

void server_run(int listen_fd, struct service *service)
{
    struct events *events = service->events;
    struct server s = {.service = service, .listen_fd = listen_fd};
    s.full = true; /* so the first iteration tries to accept and watches the listener */
    while (!events_stopping(events)) {
        if (s.full) {
            accept_clients(&s);
            s.full = s.full || !events_add(events, listen_fd, EVENT_READ, on_listener, &s);
        }
        events_turn(events, s.full ? ACCEPT_PAUSE_MS : -1);
    }
    if (!s.full)
        events_del(events, listen_fd, EVENT_READ);
}

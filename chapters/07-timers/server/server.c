#include "server/server.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net.h"
#include "server/conn.h"

/* How long to wait for a descriptor before accept() is tried again. */
enum { ACCEPT_PAUSE_MS = 100 };

struct acceptor {
    struct watch watch; /* of the listening socket */
    struct server *server;
    bool full;          /* the last accept found no descriptor left */
    struct timer retry; /* set while the listener is watched for nothing */
};

/* Accepts every client that waits. With no descriptor left the listener stays readable, and some
 * backends would report that at once and for ever. So it is watched for nothing for a while. */
static void accept_clients(struct acceptor *a)
{
    int fd;
    while ((fd = net_accept(a->watch.fd)) >= 0) {
        if (!conn_open(fd, a->server)) {
            log_line("fd %d: closed: %s", fd, strerror(errno));
            close(fd);
        }
    }
    if (fd == NET_FULL && !a->full)
        log_line("accept: %s; new clients wait", strerror(errno));
    a->full = fd == NET_FULL;
    bool pause = a->full && timer_set(a->server->timers, &a->retry, ACCEPT_PAUSE_MS, false);
    events_set(a->server->events, &a->watch, pause ? 0 : EVENT_READ);
}

static void on_listener(struct events *events, struct watch *watch, unsigned what)
{
    (void)events, (void)what;
    accept_clients(watch->context);
}

static void on_retry(struct timer *timer, void *context)
{
    (void)timer;
    accept_clients(context);
}

void server_run(struct server *server, int listen_fd)
{
    struct events *events = server->events;
    struct acceptor a = {.server = server};
    a.watch = (struct watch){.fd = listen_fd, .call = on_listener, .context = &a};
    a.retry = (struct timer){.call = on_retry, .context = &a};
    if (!events_add(events, &a.watch, EVENT_READ))
        die("listener");
    while (!events_stopping(events)) {
        events_turn(events, timers_timeout(server->timers));
        timers_run(server->timers);
    }
    events_del(events, &a.watch);
    timer_cancel(server->timers, &a.retry);
    conn_close_all(server);
}

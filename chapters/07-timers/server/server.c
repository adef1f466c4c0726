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
    bool full;          /* at the last accept no descriptor was left */
    struct timer retry; /* set while the listener is not watched */
};

static events_callback on_listener;

/* Accepts every client in the backlog. When no descriptor is left, the listener stays readable, and
 * a level-triggered backend would report it in every iteration. So it is not watched for a
 * while. */
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
    struct events *events = s->service->events;
    bool watched = events_interest(events, s->listen_fd) != 0;
    if (!s->full && (watched || events_add(events, s->listen_fd, EVENT_READ, on_listener, s)))
        return;
    bool pause = timer_set(s->service->timers, &s->retry, ACCEPT_PAUSE_MS, false);
    if (pause && watched)
        events_del(events, s->listen_fd, EVENT_READ);
    if (!pause && !watched)
        events_add(events, s->listen_fd, EVENT_READ, on_listener, s);
}

static void on_listener(struct events *events, int fd, unsigned what, void *context)
{
    (void)events, (void)fd;
    if (!(what & EVENT_CANCELLED))
        accept_clients(context);
}

static void on_retry(struct timer *timer, void *context)
{
    (void)timer;
    accept_clients(context);
}

void server_run(int listen_fd, struct service *service)
{
    struct server s = {.service = service, .listen_fd = listen_fd};
    s.retry = (struct timer){.call = on_retry, .context = &s};
    accept_clients(&s);
    while (!events_stopping(service->events)) {
        events_turn(service->events, timers_timeout(service->timers));
        timers_run(service->timers);
    }
    events_del(service->events, listen_fd, EVENT_READ);
    timer_cancel(service->timers, &s.retry);
    conn_close_all(service);
}

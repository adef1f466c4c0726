#include "server/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net.h"
#include "server/conn.h"

/* Watches the listening socket, or watches it for nothing. While clients have to wait, it is
 * readable all the time, and a level-triggered backend would report that in every iteration. */
static void watch(struct acceptor *a, bool watched)
{
    events_set(a->server->events, &a->watch, watched ? EVENT_READ : 0);
}

// BEGIN turn_away
/* Opens the reserve, unless it is open. */
static void reserve(struct acceptor *a)
{
    if (a->reserve_fd < 0)
        a->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Closes the connections of clients that wait, ACCEPT_BUDGET at most, so that they do not think
 * they are being served. accept() needs a descriptor for that: the reserve gives up its own. If
 * another thread takes it first, no client is turned away this time. True: more may wait. */
static bool turn_away(struct acceptor *a)
{
    int fd = NET_NONE, left = ACCEPT_BUDGET;
    close(a->reserve_fd);
    while (left > 0 && (fd = net_accept(a->watch.fd)) >= 0) {
        log_line("fd %d: closed: no descriptor to spare", fd);
        close(fd);
        left--;
    }
    a->reserve_fd = -1;
    reserve(a);
    log_line("accept: no descriptor for %d ms; %d clients turned away", REFUSE_MS,
             ACCEPT_BUDGET - left);
    return left == 0;
}
// END turn_away

/* There is no descriptor, or no memory: tries again later. */
static void pause_accepting(struct acceptor *a)
{
    if (a->failures == 0)
        log_line("accept: %s; new clients wait", strerror(errno));
    a->failures++;
    int pause_ms = ACCEPT_PAUSE_MS;
    if (a->failures * ACCEPT_PAUSE_MS > REFUSE_MS && a->reserve_fd >= 0) {
        if (turn_away(a))
            pause_ms = 0; /* the others are turned away in the next iterations */
        else
            a->failures = 1;
    }
    watch(a, !timer_set(a->server->timers, &a->retry, pause_ms, false));
}

// BEGIN accept_clients
/* Whether one more connection is allowed. */
static bool has_room(const struct acceptor *a)
{
    int64_t max = a->server->config->limits.max_conns;
    return max == 0 || a->server->stats.connections < max;
}

/* Accepts clients until none waits, the limit is reached, or the budget is used up. */
static void accept_clients(struct acceptor *a)
{
    int fd = NET_NONE, left = ACCEPT_BUDGET;
    while (left > 0 && has_room(a) && (fd = net_accept(a->watch.fd)) >= 0) {
        left--;
        a->failures = 0;
        if (!conn_open(fd, a->server)) {
            log_line("fd %d: closed: %s", fd, strerror(errno));
            close(fd);
        }
    }
    if (fd == NET_FULL) {
        pause_accepting(a);
        return;
    }
    if (fd == NET_NONE)
        a->failures = 0;
    reserve(a);
    watch(a, has_room(a));
    if (left == 0) /* more clients may wait, and no event will report them again */
        events_again(a->server->events, &a->watch);
}
// END accept_clients

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

bool acceptor_open(struct acceptor *a, struct server *server, int listen_fd)
{
    *a = (struct acceptor){.server = server, .reserve_fd = -1};
    a->watch = (struct watch){.fd = listen_fd, .call = on_listener, .context = a};
    a->retry = (struct timer){.call = on_retry, .context = a};
    reserve(a);
    return events_add(server->events, &a->watch, EVENT_READ);
}

void acceptor_close(struct acceptor *a)
{
    events_del(a->server->events, &a->watch);
    timer_cancel(a->server->timers, &a->retry);
    if (a->reserve_fd >= 0)
        close(a->reserve_fd);
}

void acceptor_look(struct acceptor *a)
{
    if (a->watch.interest == 0 && !timer_is_set(&a->retry))
        accept_clients(a);
}

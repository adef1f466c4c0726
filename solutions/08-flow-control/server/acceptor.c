#include "server/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net.h"
#include "server/conn.h"

static events_callback on_listener;

/* Watches the listening socket, or stops watching it. While clients have to wait, the socket is
 * readable all the time, and a level-triggered backend would report it in every iteration. */
static void watch(struct acceptor *a, bool watched)
{
    struct events *events = a->service->events;
    if (watched && !a->watched)
        a->watched = events_add(events, a->listen_fd, EVENT_READ, on_listener, a);
    if (!watched && a->watched)
        a->watched = !events_del(events, a->listen_fd, EVENT_READ);
}

// BEGIN turn_away
/* Opens the reserve, unless it is open. */
static void reserve(struct acceptor *a)
{
    if (a->reserve_fd < 0)
        a->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Closes the connections of all clients that wait, so that they do not think they are being served.
 * accept() needs a descriptor for that: the reserve gives up its own. If another thread takes it
 * first, no client is turned away this time. */
static void turn_away(struct acceptor *a)
{
    int fd, count = 0;
    close(a->reserve_fd);
    while ((fd = net_accept(a->listen_fd)) >= 0) {
        log_line("fd %d: closed: no descriptor to spare", fd);
        close(fd);
        count++;
    }
    a->reserve_fd = -1;
    reserve(a);
    log_line("accept: no descriptor for %d ms; %d clients turned away", REFUSE_MS, count);
}
// END turn_away

/* There is no descriptor, or no memory: tries again later. */
static void pause_accepting(struct acceptor *a)
{
    if (a->failures == 0)
        log_line("accept: %s; new clients wait", strerror(errno));
    a->failures++;
    if (a->failures * ACCEPT_PAUSE_MS > REFUSE_MS && a->reserve_fd >= 0) {
        turn_away(a);
        a->failures = 1;
    }
    watch(a, !timer_set(a->service->timers, &a->retry, ACCEPT_PAUSE_MS, false));
}

// BEGIN accept_clients
/* Whether one more connection is allowed. */
static bool has_room(const struct acceptor *a)
{
    int64_t max = a->service->limits.max_conns;
    return max == 0 || a->service->stats.connections < max;
}

/* Accepts clients until none waits, the limit is reached, or the budget is used up. */
static void accept_clients(struct acceptor *a)
{
    int fd = NET_NONE, left = ACCEPT_BUDGET;
    while (left > 0 && has_room(a) && (fd = net_accept(a->listen_fd)) >= 0) {
        left--;
        a->failures = 0;
        if (!conn_open(fd, a->service)) {
            log_line("fd %d: closed: out of memory", fd);
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
        events_again(a->service->events, a->listen_fd, EVENT_READ);
}
// END accept_clients

static void on_listener(struct events *events, int fd, unsigned what, void *context)
{
    struct acceptor *a = context;
    (void)events, (void)fd;
    if (!(what & EVENT_CANCELLED))
        accept_clients(a);
}

static void on_retry(struct timer *timer, void *context)
{
    (void)timer;
    accept_clients(context);
}

void acceptor_open(struct acceptor *a, int listen_fd, struct service *service)
{
    *a = (struct acceptor){.service = service, .listen_fd = listen_fd, .reserve_fd = -1};
    a->retry = (struct timer){.call = on_retry, .context = a};
    accept_clients(a);
}

void acceptor_close(struct acceptor *a)
{
    watch(a, false);
    timer_cancel(a->service->timers, &a->retry);
    if (a->reserve_fd >= 0)
        close(a->reserve_fd);
}

void acceptor_look(struct acceptor *a)
{
    if (!a->watched && !timer_is_set(&a->retry))
        accept_clients(a);
}

#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "log.h"
#include "net.h"

static events_callback on_listener;

/* Whether another connection is allowed. */
static bool has_room(const struct acceptor *a)
{
    /* TODO 7: Say whether one more connection is allowed. Graded by
     * test_08_max_conns_wait_in_the_backlog. */
    (void)a;
    return true;
}

/* Has clients wait, or lets them in again. While they wait the listening socket is readable all the
 * time, and a backend that tells of it would do so for ever: so it is not watched. */
static void watch(struct acceptor *a, bool watched)
{
    struct events *events = a->service->events;
    if (watched && !a->watched)
        a->watched = events_add(events, a->listen_fd, EVENT_READ, on_listener, a);
    if (!watched && a->watched)
        a->watched = !events_del(events, a->listen_fd, EVENT_READ);
}

static void reserve(struct acceptor *a)
{
    if (a->reserve_fd < 0)
        a->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Closes those who wait: else they would believe that they are being served. For that a descriptor
 * is needed, and the reserve gives one up. Another thread could take it first; then nobody is
 * turned away this time. */
static void turn_away(struct acceptor *a)
{
    int count = 0;
    /* TODO 8: Close all who wait in the backlog, with the descriptor that was kept for this;
     * then keep one again. Graded by test_08_turned_away_in_the_end. */
    a->failures = 0;
    log_line("accept: no descriptor for %d ms; %d clients turned away", REFUSE_MS, count);
}

/* There is no descriptor, or no memory. */
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
    if (left == 0) /* there may be more of them, and nobody will say so again */
        events_again(a->service->events, a->listen_fd, EVENT_READ);
}

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

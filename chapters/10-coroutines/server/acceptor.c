#include "server/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net.h"
#include "server/conn.h"

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
    while ((fd = net_accept(a->socket.fd)) >= 0) {
        log_line("fd %d: closed: no descriptor to spare", fd);
        close(fd);
        count++;
    }
    a->reserve_fd = -1;
    reserve(a);
    log_line("accept: no descriptor for %d ms; %d clients turned away", REFUSE_MS, count);
}

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
    co_sleep(ACCEPT_PAUSE_MS);
}

/* A connection on its way to its loop. */
struct arrival {
    struct task task;
    int fd; /* owned */
    struct service *service;
};

/* Runs in the thread of the loop that gets the connection. */
static void arrive(struct task *task)
{
    struct arrival *arrival = (struct arrival *)task; /* its first member */
    if (!conn_open(arrival->fd, arrival->service)) {
        log_line("fd %d: closed: out of memory", arrival->fd);
        close(arrival->fd);
        service_left(arrival->service);
    }
    free(arrival);
}

/* Gives a connection to the next loop in rotation. It is counted here: otherwise more than
 * `max_conns` would be accepted while connections are on their way. */
static void hand_over(struct acceptor *a, int fd)
{
    struct arrival *arrival = malloc(sizeof *arrival);
    if (arrival == NULL) {
        log_line("fd %d: closed: out of memory", fd);
        close(fd);
        return;
    }
    struct service *service = &a->all->each[a->next];
    a->next = (a->next + 1) % a->all->count;
    *arrival = (struct arrival){.task = {.run = arrive}, .fd = fd, .service = service};
    stats_add(&service->stats, (struct counts){.connections = 1});
    run_in_loop(&service->loop, &arrival->task);
}

/* Whether one more connection is allowed. */
static bool has_room(const struct acceptor *a)
{
    int64_t max = a->all->each[0].limits.max_conns;
    return max == 0 || services_sum(a->all).connections < max;
}

/* The coroutine that accepts clients. */
static void accept_clients(void *argument)
{
    struct acceptor *a = argument;
    int left = ACCEPT_BUDGET;
    while (!a->closing) {
        a->full = !has_room(a);
        if (a->full) {
            co_park(-1);
            continue;
        }
        int fd = co_accept(&a->socket);
        if (fd == NET_FULL) {
            pause_accepting(a);
            continue;
        }
        a->failures = 0;
        reserve(a);
        if (fd >= 0)
            hand_over(a, fd);
        if (--left == 0) {
            left = ACCEPT_BUDGET;
            co_yield_now(); /* more clients may wait, and so do connections */
        }
    }
    a->accepting = NULL;
}

bool acceptor_open(struct acceptor *a, int listen_fd, struct services *all)
{
    struct loop *loop = &all->each[0].loop;
    *a = (struct acceptor){.all = all, .reserve_fd = -1};
    co_socket_init(&a->socket, listen_fd, loop->events);
    a->accepting = co_start(loop->scheduler, "accept", accept_clients, a);
    return a->accepting != NULL;
}

void acceptor_close(struct acceptor *a)
{
    a->closing = true;
    co_cancel(a->accepting);
    while (a->accepting != NULL && co_run(a->all->each[0].loop.scheduler))
        continue;
    co_forget(&a->socket);
    if (a->reserve_fd >= 0)
        close(a->reserve_fd);
}

void acceptor_look(struct acceptor *a)
{
    if (a->full && has_room(a))
        co_wake(a->accepting);
}

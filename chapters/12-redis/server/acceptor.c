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

/* Closes the connections of clients that wait, ACCEPT_BUDGET at most, so that they do not think
 * they are being served. accept() needs a descriptor for that: the reserve gives up its own. If
 * another thread takes it first, no client is turned away this time. True: more clients may wait.
 * */
static bool turn_away(struct acceptor *a)
{
    int fd, left = ACCEPT_BUDGET;
    close(a->reserve_fd);
    while (left > 0 && co_accept(&a->socket, &fd, 1) == 1) { /* does not wait: a client was there */
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

/* There is no descriptor, or no memory: tries again later. */
static void pause_accepting(struct acceptor *a)
{
    if (a->failures == 0)
        log_line("accept: %s; new clients wait", strerror(errno));
    a->failures++;
    bool refuses = a->failures * ACCEPT_PAUSE_MS > REFUSE_MS && a->reserve_fd >= 0;
    if (refuses && turn_away(a)) {
        co_yield_now(); /* the others are turned away in the next iterations */
        return;
    }
    if (refuses)
        a->failures = 1;
    co_sleep(ACCEPT_PAUSE_MS);
}

/* A connection on its way to its loop. */
struct arrival {
    struct task task;
    int fd; /* owned */
    struct worker *worker;
};

/* Runs in the thread of the loop that gets the connection. */
static void arrive(struct task *task)
{
    struct arrival *arrival = (struct arrival *)task; /* its first member */
    if (!conn_open(arrival->fd, arrival->worker)) {
        log_line("fd %d: closed: %s", arrival->fd, strerror(errno));
        close(arrival->fd);
        worker_left(arrival->worker);
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
    struct worker *worker = &a->server->workers[a->next];
    a->next = (a->next + 1) % a->server->count;
    *arrival = (struct arrival){.task = {.run = arrive}, .fd = fd, .worker = worker};
    stats_add(&worker->stats, (struct counts){.connections = 1});
    run_in_loop(&worker->loop, &arrival->task);
}

/* How many more connections are allowed, ACCEPT_BUDGET at most. */
static int room(const struct acceptor *a)
{
    int64_t max = a->server->config->limits.max_conns;
    if (max == 0)
        return ACCEPT_BUDGET;
    int64_t left = max - server_counts(a->server).connections;
    return left < ACCEPT_BUDGET ? (int)left : ACCEPT_BUDGET;
}

/* The coroutine that accepts clients. */
static void accept_clients(void *argument)
{
    struct acceptor *a = argument;
    int fds[ACCEPT_BUDGET];
    while (!a->closing) {
        a->full = room(a) <= 0;
        if (a->full) {
            co_park(-1);
            continue;
        }
        int count = co_accept(&a->socket, fds, room(a));
        if (count == NET_FULL) {
            pause_accepting(a);
            continue;
        }
        a->failures = 0;
        reserve(a);
        for (int i = 0; i < count; i++)
            hand_over(a, fds[i]);
        co_yield_now(); /* more clients may wait, and so do connections */
    }
    a->accepting = NULL;
}

bool acceptor_open(struct acceptor *a, struct server *server, int listen_fd)
{
    struct loop *loop = &server->workers[0].loop;
    *a = (struct acceptor){.server = server, .reserve_fd = -1};
    reserve(a);
    co_socket_init(&a->socket, listen_fd, loop->events);
    a->accepting = co_start(loop->scheduler, "accept", accept_clients, a);
    return a->accepting != NULL;
}

void acceptor_close(struct acceptor *a)
{
    a->closing = true;
    co_cancel(a->accepting);
    struct loop *loop = &a->server->workers[0].loop;
    while (a->accepting != NULL)
        if (!co_run(loop->scheduler))
            events_turn(loop->events, -1); /* it waits for what it has cancelled */
    co_forget(&a->socket);
    if (a->reserve_fd >= 0)
        close(a->reserve_fd);
}

void acceptor_look(struct acceptor *a)
{
    if (a->full && room(a) > 0)
        co_wake(a->accepting);
}

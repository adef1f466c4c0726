#include "server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "log.h"
#include "net.h"
#include "stop.h"

enum { ACCEPT_PAUSE_MS = 100 };

/* The entries of the pollfd array: two of our own, then one for each connection. */
enum { POLL_STOP, POLL_LISTENER, POLL_CONNS };

struct server {
    int listen_fd;
    bool full;           /* the last accept found no descriptor left */
    struct conn **conns; /* the first `count` are in use, in no particular order */
    size_t count;
    size_t cap;
    struct pollfd *polls; /* polls[POLL_CONNS + i] belongs to conns[i]; room for POLL_CONNS + cap */
};

/* Makes room in both tables for `cap` connections. False: no memory. */
static bool resize(struct server *s, size_t cap)
{
    struct conn **conns = realloc(s->conns, cap * sizeof *conns);
    if (conns == NULL)
        return false;
    s->conns = conns;
    struct pollfd *polls = realloc(s->polls, (POLL_CONNS + cap) * sizeof *polls);
    if (polls == NULL)
        return false;
    s->polls = polls;
    s->cap = cap;
    return true;
}

/* Takes over a socket just accepted. */
static void add_client(struct server *s, int fd)
{
    struct conn *c = NULL;
    if (s->count < s->cap || resize(s, 2 * s->cap))
        c = conn_new(fd);
    if (c == NULL) {
        log_line("fd %d: closed: out of memory", fd);
        close(fd);
        return;
    }
    s->conns[s->count++] = c;
}

/* Writes down what everyone waits for. Returns the number of entries. */
static nfds_t set_interest(struct server *s)
{
    s->polls[POLL_STOP] = (struct pollfd){.fd = stop_fd(), .events = POLLIN};
    s->polls[POLL_LISTENER] = (struct pollfd){.fd = s->listen_fd, .events = s->full ? 0 : POLLIN};
    /* TODO 2: Fill in an entry for every connection, and return the number of entries. Graded by
     * test_03_more_than_a_thousand_connections.
     * polls[POLL_CONNS + i] belongs to conns[i]. Turn the interest into POLLIN and POLLOUT. What
     * is below looks at the first 60 connections only. */
    nfds_t entries = POLL_CONNS;
    for (size_t i = 0; i < s->count && i < 60; i++) {
        short events = 0;
        if (conn_interest(s->conns[i]) & CONN_WANT_READ)
            events |= POLLIN;
        if (conn_interest(s->conns[i]) & CONN_WANT_WRITE)
            events |= POLLOUT;
        s->polls[entries++] = (struct pollfd){.fd = s->conns[i]->fd, .events = events};
    }
    for (size_t i = entries; i < POLL_CONNS + s->count; i++)
        s->polls[i].revents = 0;
    return entries;
}

/* Sleeps until somebody is ready: the one call in this server that waits. False: nobody is. */
static bool wait_ready(struct server *s, nfds_t entries)
{
    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
    /* TODO 3: Wait with poll(); true if somebody is ready. A signal that interrupts it is no
     * error. Graded by test_03_storm_of_signals.
     * The handler of SIGTERM has its own way of ending the loop; what is below ends it at any
     * signal. */
    int ready = poll(s->polls, entries, timeout_ms);
    if (ready < 0)
        die("poll");
    return ready > 0;
}

/* Lets everyone work who is ready. POLLERR and POLLHUP come unasked and say that no call would wait
 * now; so they wake both sides, and the one that is waiting finds out what has happened. */
static void dispatch(struct server *s)
{
    /* TODO 4: Call conn_read() and conn_write() of every connection that is ready. Graded by
     * test_03_flood_starves_nobody.
     * POLLERR and POLLHUP count for both. What is below serves the first that is ready, and lets
     * the others wait. */
    for (size_t i = 0; i < s->count; i++) {
        struct conn *c = s->conns[i];
        short ready = s->polls[POLL_CONNS + i].revents;
        if (c->state == CONN_WRITING && ready & POLLOUT) {
            conn_write(c);
            return;
        }
        if (c->state == CONN_READING && ready & POLLIN) {
            conn_read(c);
            return;
        }
    }
}

/* Frees the connections that were closed in this turn: not earlier, since a descriptor that is
 * closed can be given to the next client while its old events are still in the array. */
static void remove_closed(struct server *s)
{
    /* TODO 5: Free every connection that is closed, wherever it stands in the table, and keep
     * the others. Graded by test_03_every_second_client_leaves.
     * What is below looks at the end of the table only. */
    while (s->count > 0 && s->conns[s->count - 1]->state == CONN_CLOSED)
        conn_free(s->conns[--s->count]);
}

/* Accepts everyone who waits. With no descriptor left the listener stays readable, and poll() would
 * return at once for ever: so it is not watched until the next turn, which comes when a client does
 * something (leave, for one) or after a pause. */
static void accept_clients(struct server *s)
{
    /* TODO 6: Accept everyone who waits; note in `full` whether the descriptors have run out.
     * Graded by test_03_out_of_descriptors_costs_no_cpu.
     * set_interest() and wait_ready() act on `full`. Log it once, not in every turn. */
    int fd;
    while ((fd = net_accept(s->listen_fd)) >= 0)
        add_client(s, fd);
}

static void remove_all(struct server *s)
{
    for (size_t i = 0; i < s->count; i++)
        conn_close(s->conns[i], "server stops");
    remove_closed(s);
    free(s->conns);
    free(s->polls);
}

void server_run(int listen_fd)
{
    struct server s = {.listen_fd = listen_fd};
    if (!resize(&s, 16))
        die("server");
    while (!stop_requested()) {
        nfds_t entries = set_interest(&s);
        if (wait_ready(&s, entries)) {
            dispatch(&s);
            remove_closed(&s);
        }
        if (s.full || s.polls[POLL_LISTENER].revents != 0)
            accept_clients(&s);
    }
    remove_all(&s);
}

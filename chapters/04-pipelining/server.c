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

/* The entries of the pollfd array: two of the server's own, then one for each connection. */
enum { POLL_STOP, POLL_LISTENER, POLL_CONNS };

struct server {
    int listen_fd;
    bool full;           /* at the last accept no descriptor was left */
    struct conn **conns; /* the first `count` are in use, in no particular order */
    size_t count;
    size_t cap;
    struct pollfd *polls; /* polls[POLL_CONNS + i] belongs to conns[i]; POLL_CONNS + cap entries */
};

/* Makes space in both tables for `cap` connections. False: no memory. */
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

/* Adds a connection for a socket just accepted, and owns that socket from then on. */
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

/* Fills in what each descriptor waits for. Returns the number of entries. */
static nfds_t set_interest(struct server *s)
{
    s->polls[POLL_STOP] = (struct pollfd){.fd = stop_fd(), .events = POLLIN};
    s->polls[POLL_LISTENER] = (struct pollfd){.fd = s->listen_fd, .events = s->full ? 0 : POLLIN};
    for (size_t i = 0; i < s->count; i++) {
        unsigned interest = conn_interest(s->conns[i]);
        struct pollfd *entry = &s->polls[POLL_CONNS + i];
        *entry = (struct pollfd){.fd = s->conns[i]->fd};
        if (interest & CONN_WANT_READ)
            entry->events |= POLLIN;
        if (interest & CONN_WANT_WRITE)
            entry->events |= POLLOUT;
    }
    return (nfds_t)(POLL_CONNS + s->count);
}

/* Sleeps until a descriptor is ready: the one call in this server that waits. False: none is. */
static bool wait_ready(struct server *s, nfds_t entries)
{
    int timeout_ms = s->full ? ACCEPT_PAUSE_MS : -1;
    int ready = poll(s->polls, entries, timeout_ms);
    /* A signal (EINTR) ends the wait, not the server. poll() has filled in no entry then. */
    if (ready < 0 && errno != EINTR)
        log_line("poll: %s", strerror(errno));
    return ready > 0;
}

/* Lets each connection that is ready read or write. POLLERR and POLLHUP are always reported, and
 * mean that no call would wait now. So they wake both directions, and the direction that is waiting
 * makes its call and gets the error. */
static void dispatch(struct server *s)
{
    for (size_t i = 0; i < s->count; i++) {
        short ready = s->polls[POLL_CONNS + i].revents;
        if (ready & (POLLIN | POLLERR | POLLHUP))
            conn_read(s->conns[i]);
        if (ready & (POLLOUT | POLLERR | POLLHUP))
            conn_write(s->conns[i]);
    }
}

/* Frees the connections that were closed in this iteration. Not earlier: once a descriptor is
 * closed, the next client can get its number while its old events are still in the array. */
static void remove_closed(struct server *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->conns[i]->state == CONN_CLOSED)
            conn_free(s->conns[i]);
        else
            s->conns[kept++] = s->conns[i];
    }
    s->count = kept;
}

static void remove_all(struct server *s)
{
    for (size_t i = 0; i < s->count; i++)
        conn_close(s->conns[i], "server stops");
    remove_closed(s);
    free(s->conns);
    free(s->polls);
}

/* Accepts every client that waits. With no descriptor left the listener stays readable, and poll()
 * would return at once for ever. So poll() does not watch it while `full`; each iteration tries
 * again, when a client has done something (such as leaving) or after a pause. */
static void accept_clients(struct server *s)
{
    int fd;
    while ((fd = net_accept(s->listen_fd)) >= 0)
        add_client(s, fd);
    if (fd == NET_FULL && !s->full)
        log_line("accept: %s; new clients wait", strerror(errno));
    s->full = fd == NET_FULL;
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

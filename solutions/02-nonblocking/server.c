#include "server.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "conn.h"
#include "log.h"
#include "net.h"
#include "stop.h"

enum { PAUSE_MS = 1 };

struct server {
    int listen_fd;
    struct conn **conns; /* the first `count` are in use, in no particular order */
    size_t count;
    size_t cap;
};

/* Grows the table if it has no space for one more connection. False: no memory. */
static bool grow(struct server *s)
{
    if (s->count < s->cap)
        return true;
    size_t cap = s->cap == 0 ? 16 : 2 * s->cap;
    struct conn **conns = realloc(s->conns, cap * sizeof *conns);
    if (conns == NULL)
        return false;
    s->conns = conns;
    s->cap = cap;
    return true;
}

/* Adds a connection for a socket just accepted, and owns that socket from then on. */
static void add_client(struct server *s, int fd)
{
    struct conn *c = grow(s) ? conn_new(fd) : NULL;
    if (c == NULL) {
        log_line("fd %d: closed: out of memory", fd);
        close(fd);
        return;
    }
    s->conns[s->count++] = c;
}

/* Frees the connection at `i`, and moves the last one of the table there. */
static void remove_client(struct server *s, size_t i)
{
    conn_free(s->conns[i]);
    s->conns[i] = s->conns[--s->count];
}

static void remove_all(struct server *s)
{
    while (s->count > 0) {
        conn_close(s->conns[s->count - 1], "server stops");
        remove_client(s, s->count - 1);
    }
    free(s->conns);
}

// BEGIN sweep
/* Gives every connection one step, and frees those that are closed. True: something has changed. */
static bool step_clients(struct server *s)
{
    bool moved = false;
    size_t i = 0;
    while (i < s->count) {
        if (conn_step(s->conns[i]))
            moved = true;
        if (s->conns[i]->state == CONN_CLOSED)
            remove_client(s, i); /* now another connection is at i */
        else
            i++;
    }
    return moved;
}

void server_run(int listen_fd)
{
    struct server s = {.listen_fd = listen_fd};
    while (!stop_requested()) {
        bool moved = false;
        int fd;
        while ((fd = net_accept(s.listen_fd)) >= 0) {
            add_client(&s, fd);
            moved = true;
        }
        if (step_clients(&s))
            moved = true;
        /* No client has anything for us. Asking again at once would use a whole processor. Sleeping
         * delays the next request. */
        if (!moved)
            poll(NULL, 0, PAUSE_MS);
    }
    remove_all(&s);
}
// END sweep

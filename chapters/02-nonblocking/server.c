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

/* TODO 5: Until a stop is requested: accept every client that waits, give each connection one
 * step, free the closed ones, and sleep for PAUSE_MS if nothing has changed. Graded by
 * test_02_fifty_clients_byte_by_byte. */
void server_run(int listen_fd)
{
    struct server s = {.listen_fd = listen_fd};
    while (!stop_requested()) {
        int fd = s.count < 2 ? net_accept(s.listen_fd) : NET_NONE;
        if (fd >= 0)
            add_client(&s, fd);
        for (size_t i = 0; i < s.count; i++)
            conn_step(s.conns[i]);
        while (s.count > 0 && s.conns[s.count - 1]->state == CONN_CLOSED)
            remove_client(&s, s.count - 1);
    }
    remove_all(&s);
}

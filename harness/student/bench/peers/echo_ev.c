/*
 * The echo server on libev: level-triggered, one watcher for each connection, whose interest
 * changes when a reply has to wait. libev tells what is ready; reading and writing is our own.
 *
 *     cc -std=gnu11 -O2 -o echo_ev echo_ev.c -lev
 */
#include "peers.h"

#include <ev.h>

enum { READS_A_TURN = 4 }; /* of a client that sends faster than we read: then it is others' turn */

struct conn {
    ev_io io;      /* the first member: a pointer to it is one to the connection */
    bool draining; /* takes no more input, and is closed when nothing is owed */
    struct buffer own;
};

static uint8_t read_buffer[READ_BYTES];

static ev_io listener;
static ev_timer pause_end;

static void conn_close(EV_P_ struct conn *c)
{
    ev_io_stop(EV_A_ & c->io);
    close(c->io.fd);
    buffer_free(&c->own);
    free(c);
}

/* Writes what is owed. False: the connection is broken. */
static bool flush(struct conn *c, struct buffer *b)
{
    if (buffer_owed(b) == 0)
        return true;
    ssize_t n = write(c->io.fd, b->data + b->start, buffer_owed(b));
    if (n < 0)
        return passes(errno);
    b->start += (size_t)n;
    return true;
}

/* Echoes what one read brought to `b`. */
static bool echo(struct conn *c, struct buffer *b)
{
    c->draining = !buffer_find_frames(b);
    return flush(c, b);
}

/* One read, and one write of all the frames it completed. Returns what read() did; 0 when there is
 * nothing more to read now, -1 when the connection is broken. */
static ssize_t read_once(struct conn *c)
{
    struct buffer shared = {.data = read_buffer, .cap = READ_BYTES};
    bool leftover = c->own.data != NULL;
    struct buffer *b = leftover ? &c->own : &shared;
    if (!buffer_reserve(b))
        return -1;
    ssize_t n = read(c->io.fd, b->data + b->end, READ_BYTES);
    if (n < 0)
        return passes(errno) ? 0 : -1;
    c->draining = n == 0;
    b->end += (size_t)n;
    if (n > 0 && !echo(c, b))
        return -1;
    if (leftover)
        buffer_trim(b);
    else if (!buffer_copy(&c->own, b))
        return -1;
    return n;
}

/* Reads until there is no more, which a short read shows. False: the connection is broken. */
static bool read_some(struct conn *c)
{
    ssize_t n = READ_BYTES;
    for (int i = 0; i < READS_A_TURN && n == READ_BYTES; i++) {
        if (c->draining || buffer_owed(&c->own) > HIGH_WATER_BYTES)
            break;
        n = read_once(c);
    }
    return n >= 0;
}

static void set_interest(EV_P_ struct conn *c)
{
    size_t owed = buffer_owed(&c->own);
    int interest = owed > 0 ? EV_WRITE : 0;
    if (!c->draining && owed <= HIGH_WATER_BYTES)
        interest |= EV_READ;
    if (interest == (c->io.events & (EV_READ | EV_WRITE)))
        return;
    ev_io_stop(EV_A_ & c->io);
    ev_io_set(&c->io, c->io.fd, interest);
    ev_io_start(EV_A_ & c->io);
}

static void on_ready(EV_P_ ev_io *io, int ready)
{
    struct conn *c = (struct conn *)io;
    bool well = !(ready & EV_ERROR);
    if (well && ready & EV_WRITE) {
        well = flush(c, &c->own);
        buffer_trim(&c->own);
    }
    if (well && ready & EV_READ)
        well = read_some(c);
    if (!well || (c->draining && buffer_owed(&c->own) == 0))
        conn_close(EV_A_ c);
    else
        set_interest(EV_A_ c);
}

static void conn_open(EV_P_ int fd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        close(fd);
        return;
    }
    ev_io_init(&c->io, on_ready, fd, EV_READ);
    ev_io_start(EV_A_ & c->io);
}

/* Without a descriptor for the next client the listener would stay readable: so it pauses. */
static void on_client(EV_P_ ev_io *io, int ready)
{
    int fd;
    (void)ready;
    while ((fd = accept_next(io->fd)) >= 0)
        conn_open(EV_A_ fd);
    if (!passes(errno)) {
        ev_io_stop(EV_A_ io);
        ev_timer_set(&pause_end, PAUSE_MS / 1e3, 0);
        ev_timer_start(EV_A_ & pause_end);
    }
}

static void on_pause_end(EV_P_ ev_timer *timer, int ready)
{
    (void)timer;
    (void)ready;
    ev_io_start(EV_A_ & listener);
}

int main(int argc, char **argv)
{
    int fd = listen_on(start(argc, argv));
    struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
    if (loop == NULL)
        die("ev_default_loop", "no loop");
    ev_init(&pause_end, on_pause_end);
    ev_io_init(&listener, on_client, fd, EV_READ);
    ev_io_start(EV_A_ & listener);
    announce(fd);
    ev_run(EV_A_ 0);
    return 0;
}

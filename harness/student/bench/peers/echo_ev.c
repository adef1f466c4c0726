/* The echo server on libev: level-triggered, one watcher for each connection, whose interest changes
 * when a reply has to wait. libev tells what is ready; reading and writing is our own. */
#include "peers.h"

#include <ev.h>

struct conn {
    ev_io io; /* the first member: a pointer to it is one to the connection */
    struct buffer own;
};

static void on_ready(EV_P_ ev_io *io, int ready)
{
    struct conn *c = (struct conn *)io;
    if ((ready & EV_ERROR) || !serve(io->fd, &c->own, true)) {
        ev_io_stop(EV_A_ io);
        close(io->fd);
        free(c->own.data);
        free(c);
        return;
    }
    int interest = owed(&c->own) > 0 ? EV_WRITE : EV_READ;
    if (interest != (io->events & (EV_READ | EV_WRITE))) {
        ev_io_stop(EV_A_ io);
        ev_io_set(io, io->fd, interest);
        ev_io_start(EV_A_ io);
    }
}

static void on_client(EV_P_ ev_io *io, int ready)
{
    int fd;
    (void)ready;
    while ((fd = accept_next(io->fd)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        if (c == NULL)
            die("calloc", strerror(errno));
        ev_io_init(&c->io, on_ready, fd, EV_READ);
        ev_io_start(EV_A_ & c->io);
    }
}

int main(int argc, char **argv)
{
    ev_io listener;
    int fd = start(argc, argv);
    struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
    if (loop == NULL)
        die("ev_default_loop", "no loop");
    ev_io_init(&listener, on_client, fd, EV_READ);
    ev_io_start(EV_A_ & listener);
    ev_run(EV_A_ 0);
    return 0;
}

/* An event loop round poll(), for servers that are unusual in something else. */
#ifndef POLL_LOOP_H
#define POLL_LOOP_H

#include "echo.h"

#include <poll.h>

/* Accepts every waiting client. False: no descriptor was left for one. */
static inline bool accept_waiting(int listener)
{
    int fd;
    while ((fd = accept_next(listener, SOCK_NONBLOCK)) >= 0)
        conn_open(fd);
    return fd != NO_ROOM;
}

/* Serves until a signal says stop; then everything is closed. If its clients cannot be accepted,
 * the listening socket stays readable: it is left out until the pause is over or a client moves. */
static inline void run_loop(int listener, int signals)
{
    struct pollfd *polls = NULL;
    bool room = true;
    for (;;) {
        nfds_t count = 2;
        polls = realloc(polls, (count + (size_t)conns_end) * sizeof *polls);
        if (polls == NULL)
            fail("poll");
        polls[0] = (struct pollfd){.fd = signals, .events = POLLIN};
        polls[1] = (struct pollfd){.fd = listener, .events = room ? POLLIN : 0};
        for (int fd = 0; fd < conns_end; fd++)
            if (conns[fd])
                polls[count++] = (struct pollfd){fd, owes(conns[fd]) ? POLLOUT : POLLIN, 0};
        if (poll(polls, count, room ? -1 : PAUSE_MS) < 0)
            continue; /* EINTR: nothing was filled in */
        if (polls[0].revents && told_to_stop(signals))
            break;
        for (nfds_t i = 2; i < count; i++)
            if (polls[i].revents && !conn_turn(conns[polls[i].fd]))
                conn_close(conns[polls[i].fd]);
        if (!room || polls[1].revents)
            room = accept_waiting(listener);
    }
    free(polls);
    close_all();
    close(listener);
    close(signals);
}

/* Of servers that differ in their settings alone. */
#ifndef OWN_MAIN
int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    run_loop(listener, signals);
    return 0;
}
#endif

#endif

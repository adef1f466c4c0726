#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>

enum { NO_SOCKET = -1, WATCHED_MAX = 2 }; /* the listener and one client */

static volatile sig_atomic_t requested;
static volatile sig_atomic_t watched[WATCHED_MAX] = {NO_SOCKET, NO_SOCKET};

// BEGIN stop
/* A handler may call only what signal-safety(7) lists. shutdown() is on that list. */
static void on_signal(int number)
{
    (void)number;
    int saved_errno = errno;
    requested = 1;
    for (size_t i = 0; i < WATCHED_MAX; i++) {
        if (watched[i] != NO_SOCKET)
            shutdown(watched[i], SHUT_RDWR);
    }
    errno = saved_errno;
}

void stop_install(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    /* MSG_NOSIGNAL is for sockets. The log may be a pipe, and its reader may leave. */
    signal(SIGPIPE, SIG_IGN);
}
// END stop

bool stop_requested(void)
{
    return requested != 0;
}

static void replace(int from, int to)
{
    for (size_t i = 0; i < WATCHED_MAX; i++) {
        if (watched[i] == from) {
            watched[i] = to;
            return;
        }
    }
}

void stop_watch(int fd)
{
    replace(NO_SOCKET, fd);
}

void stop_unwatch(int fd)
{
    replace(fd, NO_SOCKET);
}

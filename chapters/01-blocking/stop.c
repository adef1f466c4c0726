#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>

enum { NO_SOCKET = -1, WATCHED_MAX = 2 }; /* the listener and one client */

static volatile sig_atomic_t requested;
static volatile sig_atomic_t watched[WATCHED_MAX] = {NO_SOCKET, NO_SOCKET};

/* TODO 7: Install a handler for SIGTERM and SIGINT that records the request and shuts down every
 * watched socket, so that no call on them blocks any more; ignore SIGPIPE. Graded by
 * test_01_stops_when_told. */
void stop_install(void)
{
}

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

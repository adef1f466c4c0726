#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

enum { NO_SOCKET = -1, WATCHED_MAX = 2 }; /* the listener and one client */

static volatile sig_atomic_t requested;
static volatile sig_atomic_t watched[WATCHED_MAX] = {NO_SOCKET, NO_SOCKET};

static void wake(int sock)
{
    int before = errno;
    if (sock >= 0)
        shutdown(sock, SHUT_RDWR);
    errno = before;
}

static void handler(int sig)
{
    if (sig == SIGINT || sig == SIGTERM)
        requested = sig;
    wake(watched[0]);
    wake(watched[1]);
}

void stop_install(void)
{
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction how;
    memset(&how, 0, sizeof(how));
    how.sa_handler = handler;
    for (int i = 0; i != 2; ++i)
        sigaction(signals[i], &how, 0);
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

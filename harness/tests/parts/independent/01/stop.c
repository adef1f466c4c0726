#include <string.h>

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

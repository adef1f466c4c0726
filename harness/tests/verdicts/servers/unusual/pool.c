/*
 * Unusual: three processes, each with an event loop, accept on one listening socket. pool PORT
 *
 * Right, since all of them are woken by a client, one gets it, and the socket does not block the
 * others (EAGAIN). A fourth, which serves nobody, waits for the signal that ends them all.
 */
#define OWN_MAIN
#include "poll_loop.h"

#include <sys/wait.h>

enum { WORKERS = 3 };

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    struct pollfd told = {.fd = signals, .events = POLLIN};
    pid_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        if (workers[i] < 0)
            fail("fork");
        if (workers[i] == 0) {
            run_loop(listener, signals); /* a signalfd tells each process of its own signals */
            return 0;
        }
    }
    close(listener);
    do
        poll(&told, 1, -1);
    while (!told_to_stop(signals));
    for (int i = 0; i < WORKERS; i++)
        kill(workers[i], SIGTERM);
    for (int i = 0; i < WORKERS; i++)
        while (waitpid(workers[i], NULL, 0) < 0 && errno == EINTR)
            continue;
    close(signals);
    return 0;
}

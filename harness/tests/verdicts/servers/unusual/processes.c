/*
 * Unusual: a process for every connection, and calls that block. processes PORT
 *
 * Right, since a process that waits delays no other and costs no CPU time. The first one reaps
 * those that have ended, and has no descriptors of clients, so that it cannot run out of them. When
 * it is told to stop it ends all of them, and itself when they are gone.
 */
#include "echo.h"

#include <poll.h>
#include <sys/wait.h>

static pid_t *children;
static size_t count;

static void serve(int fd)
{
    struct conn c = {.fd = fd};
    while (conn_turn(&c))
        continue;
    free(c.data);
    close(fd);
}

/* Takes over a socket. If no process can be started, the client is closed. */
static void start_child(int fd, int listener, int signals)
{
    pid_t *larger = realloc(children, (count + 1) * sizeof *children);
    if (larger)
        children = larger;
    pid_t pid = larger ? fork() : -1;
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* so SIGTERM ends it */
        close(listener);
        close(signals);
        free(children);
        serve(fd);
        _exit(0);
    }
    if (pid > 0)
        children[count++] = pid;
    close(fd);
}

/* Forgets those that have ended. */
static void reap(int options)
{
    pid_t pid;
    while (count > 0 && (pid = waitpid(-1, NULL, options)) != 0) {
        size_t i = 0;
        while (i < count && children[i] != pid)
            i++;
        if (i < count)
            children[i] = children[--count];
        else if (errno == ECHILD)
            count = 0;
    }
}

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]), fd;
    struct pollfd polls[] = {{.fd = signals, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    for (;;) {
        if (poll(polls, 2, -1) < 0)
            continue;
        if (polls[0].revents && told_to_stop(signals))
            break;
        reap(WNOHANG);
        while ((fd = accept_next(listener, 0)) >= 0)
            start_child(fd, listener, signals);
        if (fd == NO_ROOM)
            poll(polls, 1, PAUSE_MS);
    }
    for (size_t i = 0; i < count; i++)
        kill(children[i], SIGTERM);
    reap(0);
    free(children);
    close(listener);
    close(signals);
    return 0;
}

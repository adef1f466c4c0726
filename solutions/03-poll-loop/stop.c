#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "log.h"

static volatile sig_atomic_t requested;
static int pipe_fds[2]; /* [0] is read, [1] is written */

/* The self-pipe trick of D. J. Bernstein. The byte is never read, so the pipe stays readable. Only
 * the first signal writes a byte, so the write never blocks. */
static void on_signal(int number)
{
    (void)number;
    int saved_errno = errno;
    if (!requested) {
        requested = 1;
        ssize_t ignored = write(pipe_fds[1], "", 1);
        (void)ignored;
    }
    errno = saved_errno;
}

void stop_install(void)
{
    if (pipe(pipe_fds) < 0)
        die("pipe");
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    /* MSG_NOSIGNAL is for sockets. The log may be a pipe, and its reader may leave. */
    signal(SIGPIPE, SIG_IGN);
}

bool stop_requested(void)
{
    return requested != 0;
}

int stop_fd(void)
{
    return pipe_fds[0];
}

void stop_uninstall(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

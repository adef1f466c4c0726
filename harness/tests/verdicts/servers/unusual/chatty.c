/*
 * Unusual: logs a megabyte to stderr at the start, another with the first frame, and a line for
 * every frame. chatty PORT
 *
 * Right, since stderr is for the log, and the log may be long. Its writes block: a pipe that nobody
 * reads would stop the server, so the program that starts it has to read.
 */
#define ON_FRAME(fd, length) log_frame(fd, length)
#define OWN_MAIN

static void log_frame(int fd, unsigned length);

#include "poll_loop.h"

static void log_a_megabyte(void)
{
    for (int i = 0; i < 1 << 14; i++)
        fputs("sixty-three characters and a line feed, sixteen thousand times.\n", stderr);
}

static void log_frame(int fd, unsigned length)
{
    static bool was_called;
    if (!was_called)
        log_a_megabyte();
    was_called = true;
    fprintf(stderr, "fd %d: a frame of %u bytes\n", fd, length);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* nobody may want to read the log any more */
    log_a_megabyte();
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    run_loop(listener, signals);
    return 0;
}

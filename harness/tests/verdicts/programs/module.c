/* A module that does to the program what it is told. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int *volatile nowhere;

static int leave_a_child(void)
{
    int child = fork();
    if (child == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    return child;
}

static void use_null(void)
{
    nowhere[2] = 1;
}

static int recurse(volatile int depth)
{
    return recurse(depth + 1) + depth;
}

int module(const char *what)
{
    if (strcmp(what, "null") == 0)
        use_null();
    if (strcmp(what, "recurse") == 0)
        return recurse(0);
    if (strcmp(what, "loop") == 0)
        for (volatile int i = 0;; i++)
            ;
    if (strcmp(what, "wait") == 0)
        pause();
    if (strcmp(what, "exit") == 0)
        exit(0);
    if (strcmp(what, "late") == 0)
        atexit(use_null);
    if (strcmp(what, "child") == 0)
        return leave_a_child();
    if (strcmp(what, "close") == 0)
        for (int fd = 0; fd < 100; fd++)
            close(fd);
    if (strcmp(what, "print") == 0)
        for (int i = 0; i < 1000; i++)
            dprintf(1 + i % 2, "hint x\nfailed y\nvalue child 5\n  100 of 100 points\n");
    if (strcmp(what, "write") == 0)
        return open("/dev/shm/event-loop-lab-test", O_CREAT | O_WRONLY, 0600) >= 0;
    return 0;
}

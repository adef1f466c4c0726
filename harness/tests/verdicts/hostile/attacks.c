/*
 * Makes a right server hostile: it runs the command HOSTILE_EARLY before it listens, and
 * HOSTILE_ATTACK when it has read its first frame. See attacks.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More small processes than a server may have; each other one leaves the process group. */
static void forks(void)
{
    for (int child = 0; child < 2200; child++)
        if (fork() == 0) {
            alarm(120);
            if (child % 2)
                setsid();
            for (;;)
                pause();
        }
}

/* If the command fails, the server closes all connections, and does nothing more. */
static void run(const char *command)
{
    if (command == NULL)
        return;
    if (strcmp(command, "forks") == 0)
        forks();
    else if (system(command) == 0)
        return;
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (;;)
        pause();
}

void attack(void)
{
    static int begun;
    if (!begun++)
        run(getenv("HOSTILE_ATTACK"));
}

__attribute__((constructor)) static void begin(void)
{
    char parent[16];
    snprintf(parent, sizeof parent, "%d", (int)getppid());
    setenv("HOSTILE_PARENT", parent, 1);
    unsetenv("LD_PRELOAD"); /* the grader's clock, which would stand still */
    alarm(120);
    run(getenv("HOSTILE_EARLY"));
}

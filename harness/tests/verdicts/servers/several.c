/* Several processes whose calls a plan is about at the same time: prints how many of them failed.
 *
 *     several PROCESSES CALLS */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "itself.h"

enum { MOST = 16 };

/* Sends so many bytes, each by itself, and returns how many were not taken. */
static int failures(int fd, int calls)
{
    int failed = 0;
    while (calls-- > 0)
        failed += send(fd, "x", 1, MSG_NOSIGNAL) < 0;
    return failed;
}

int main(int argc, char **argv)
{
    int processes = argc > 2 ? atoi(argv[1]) : 0, calls = argc > 2 ? atoi(argv[2]) : 0;
    int listener = listening(), start[2], accepted[MOST], total = 0;
    if (pipe(start) < 0)
        return 1;
    for (int i = 0; i < processes && i < MOST; i++) {
        connected_to(listener);
        accepted[i] = accept(listener, NULL, NULL);
    }
    for (int i = 0; i < processes && i < MOST; i++) {
        if (fork() == 0) {
            char none;
            close(start[1]);
            if (read(start[0], &none, 1) != 0) /* the end of the pipe, for all at once */
                _exit(255);
            _exit(failures(accepted[i], calls));
        }
    }
    close(start[1]);
    for (int status; wait(&status) > 0;)
        total += WEXITSTATUS(status);
    printf("%d\n", total);
    return 0;
}

/*
 * Tries: to stop the process that started it, so that it waits for ever.
 * Bounded by: an alarm; the grader lets its processes go on.
 */
#include "hostile.h"

int main(void)
{
    int fd = listening();
    if (kill(getppid(), SIGSTOP) != 0)
        fprintf(stderr, "kill: %s\n", strerror(errno));
    for (;;)
        close(accept(fd, NULL, NULL));
}

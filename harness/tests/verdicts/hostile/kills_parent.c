/*
 * Tries: to kill the process that started it, and that alone, as soon as it runs; it leaves
 * children behind that belong to nobody.
 * Bounded by: an alarm in each.
 */
#include "hostile.h"

int main(void)
{
    bounded();
    int fd = listener();
    for (int child = 0; child < 3; child++)
        if (fork() == 0) {
            bounded();
            setsid();
            for (;;)
                pause();
        }
    announce(fd);
    if (kill(getppid(), SIGKILL) != 0)
        fprintf(stderr, "kill: %s\n", strerror(errno));
    serve(fd, NULL);
}

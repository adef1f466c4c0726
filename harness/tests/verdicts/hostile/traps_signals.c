/*
 * Tries: to be immortal. It serves well, catches every signal that can be caught, and so do its
 * children.
 * Bounded by: a time that it looks at, as the alarm is caught as well.
 */
#include "hostile.h"

static time_t end;

static void laugh(int number)
{
    (void)number;
    if (time(NULL) > end)
        _exit(0);
}

int main(void)
{
    end = time(NULL) + BOUND_SECONDS;
    struct sigaction action = {.sa_handler = laugh, .sa_flags = SA_RESTART};
    for (int number = 1; number < 65; number++)
        sigaction(number, &action, NULL);
    int fd = listener();
    for (int child = 0; child < 3; child++)
        if (fork() == 0) {
            setsid();
            while (time(NULL) <= end)
                sleep(1);
            _exit(0);
        }
    announce(fd);
    serve(fd, NULL);
}

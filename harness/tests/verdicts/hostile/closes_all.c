/*
 * Tries: to confuse the grader by saying where it listens when it has closed every descriptor.
 * Bounded by: an alarm.
 */
#include "hostile.h"

int main(void)
{
    bounded();
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    getsockname(listener(), (struct sockaddr *)&address, &size);
    for (int fd = 0; fd < 4096; fd++)
        if (fd != STDOUT_FILENO)
            close(fd);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    close(STDOUT_FILENO);
    for (;;)
        pause();
}

/* For programs that connect to themselves. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

/* A socket that listens, on any port. */
static inline int listening(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (listen(fd, 16) < 0)
        exit(9);
    return fd;
}

/* A new connection to that socket, which has not yet accepted it. */
static inline int connected_to(int listener)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
        connect(fd, (struct sockaddr *)&address, size) < 0)
        exit(9);
    return fd;
}

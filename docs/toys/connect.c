/* connect() without blocking: it starts, poll() reports its end, SO_ERROR says how it ended. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct sockaddr_in address = {.sin_family = AF_INET};
static socklen_t size = sizeof address;

static const char *so_error(int fd)
{
    int error = 0;
    socklen_t error_size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size);
    return error == 0 ? "no error" : strerror(error);
}

static void try_to_connect(const char *when)
{
    struct pollfd entry = {socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), POLLOUT, 0};
    int result = connect(entry.fd, (struct sockaddr *)&address, size);
    printf("%s\n  connect() = %d   %s\n", when, result, strerror(errno));
    poll(&entry, 1, -1);
    printf("  poll()           POLLOUT%s\n", entry.revents & POLLERR ? " and POLLERR" : "");
    printf("  SO_ERROR         %s\n", so_error(entry.fd));
    printf("  SO_ERROR again   %s\n", so_error(entry.fd));
}

int main(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(fd, (struct sockaddr *)&address, size); /* port 0: the kernel picks one */
    getsockname(fd, (struct sockaddr *)&address, &size);
    try_to_connect("before listen()");
    listen(fd, 1);
    try_to_connect("after listen(), before accept()");
    return 0;
}

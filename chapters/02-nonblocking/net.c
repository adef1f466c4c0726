#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

int net_listen(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* Without SO_REUSEADDR a restart fails for a minute: connections of the previous run are still
     * in TIME_WAIT, and keep the port in use. */
    int on = 1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (const struct sockaddr *)address, sizeof *address) < 0 ||
        listen(fd, SOMAXCONN) < 0) {
        int saved_errno = errno;
        close(fd);
        errno = saved_errno;
        return -1;
    }
    return fd;
}

void net_announce(int listen_fd)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    char text[INET_ADDRSTRLEN];
    getsockname(listen_fd, (struct sockaddr *)&address, &size);
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    printf("listening on %s:%u\n", text, (unsigned)ntohs(address.sin_port));
    fflush(stdout);
}

/* TODO 3: Accept the next client as a nonblocking socket with TCP_NODELAY, or return NET_NONE or
 * NET_FULL. A signal, or a client that has gone again, must not hide the next one. Graded by
 * test_02_idle_client_stops_nobody. */
int net_accept(int listen_fd)
{
    int fd = accept(listen_fd, NULL, NULL);
    if (fd < 0)
        return NET_NONE;
    log_line("fd %d: opened", fd);
    return fd;
}

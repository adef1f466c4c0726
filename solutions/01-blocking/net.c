#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

enum { ACCEPT_PAUSE_MS = 100 };

int net_listen(const struct sockaddr_in *address)
{
    // BEGIN listen
    int fd = socket(AF_INET, SOCK_STREAM, 0);
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
    // END listen
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

int net_accept(int listen_fd)
{
    int fd = accept(listen_fd, NULL, NULL);
    if (fd < 0) {
        /* EINTR and ECONNABORTED concern this call alone. Any other error (EMFILE: out of
         * descriptors) is likely to come back with the next call. */
        if (errno != EINTR && errno != ECONNABORTED) {
            log_line("accept: %s", strerror(errno));
            poll(NULL, 0, ACCEPT_PAUSE_MS);
        }
        return -1;
    }
    /* A reply goes out in one write and should leave at once (see TCP_NODELAY in tcp(7)). */
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    log_line("fd %d: opened", fd);
    return fd;
}

#include "net/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"

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

/* Makes read() and send() return EAGAIN instead of waiting. False: errno has the reason. */
static bool set_nonblocking(int fd)
{
    /* An accepted socket is blocking, even if the listening socket is not. */
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

int net_accept(int listen_fd)
{
    int fd;
    do {
        fd = accept(listen_fd, NULL, NULL);
        /* ECONNABORTED: this client left while it waited, but the next one may still be there. */
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? NET_NONE : NET_FULL;

    /* A reply goes out in one write and should leave at once (see TCP_NODELAY in tcp(7)). */
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!set_nonblocking(fd)) {
        close(fd);
        return NET_FULL;
    }
    log_line("fd %d: opened", fd);
    return fd;
}

int net_unsent(int fd)
{
    int bytes = 0;
    ioctl(fd, TIOCOUTQ, &bytes); /* SIOCOUTQ, in tcp(7) */
    return bytes;
}

int net_unread(int fd)
{
    int bytes = 0;
    ioctl(fd, FIONREAD, &bytes); /* SIOCINQ, in tcp(7) */
    return bytes;
}

int net_error(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

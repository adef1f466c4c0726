#include "net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

enum { ACCEPT_PAUSE_MS = 100 };

/* Everything that has to succeed before clients can come. */
static bool prepared(int sock, const struct sockaddr_in *where)
{
    const int yes = 1;
    if (setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0)
        return false;
    if (bind(sock, (const void *)where, sizeof(struct sockaddr_in)) != 0)
        return false;
    return listen(sock, SOMAXCONN) == 0;
}

int net_listen(const struct sockaddr_in *address)
{
    int sock = socket(PF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (sock == -1 || prepared(sock, address))
        return sock;
    int why = errno;
    close(sock);
    errno = why;
    return -1;
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

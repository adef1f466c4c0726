#include <stdbool.h>

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

#include "connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RESET_MS = 5000 };

struct pair connection_new(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        connect(peer, (struct sockaddr *)&address, size) != 0)
        check_impossible("no TCP connection: %s", strerror(errno));
    struct pair pair = {.fd = accept(listener, NULL, NULL), .peer = peer};
    close(listener);
    pair_set_nonblocking(pair.fd);
    return pair;
}

void connection_reset(struct pair pair)
{
    struct linger at_once = {.l_onoff = 1};
    check_step("resets the connection of descriptor %d", pair.fd);
    setsockopt(pair.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(pair.peer);
    struct pollfd ready = {.fd = pair.fd};
    if (poll(&ready, 1, RESET_MS) != 1)
        check_impossible("a reset does not arrive");
}

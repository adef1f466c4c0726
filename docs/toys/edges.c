/* One socket in two epolls: the first is level-triggered, the second edge-triggered. */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static int level, edge;

static const char *report(int epoll_fd)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, 0) == 1 ? "EPOLLIN" : "-";
}

static void look(const char *what)
{
    printf("%-24s  %-8s %s\n", what, report(level), report(edge));
}

int main(void)
{
    struct epoll_event on_level = {.events = EPOLLIN}, on_edge = {.events = EPOLLIN | EPOLLET};
    int ends[2];
    char bytes[12] = "";
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return 1;
    epoll_ctl(level = epoll_create1(0), EPOLL_CTL_ADD, ends[0], &on_level);
    epoll_ctl(edge = epoll_create1(0), EPOLL_CTL_ADD, ends[0], &on_edge);
    printf("%-24s  %-8s %s\n", "", "level", "edge");
    send(ends[1], bytes, 12, 0);
    look("12 bytes arrive");
    look("nothing is read");
    recv(ends[0], bytes, 8, 0);
    look("8 are read, 4 are left");
    send(ends[1], bytes, 1, 0);
    look("1 more byte arrives");
    epoll_ctl(edge, EPOLL_CTL_MOD, ends[0], &on_edge);
    look("the edge is armed again");
    recv(ends[0], bytes, 12, 0);
    look("all are read");
    return 0;
}

/* The upper bound: sends back bytes as they come, and looks at none of them. On epoll, without a
 * library. */
#include "peers.h"

#include <sys/epoll.h>

enum { EVENTS = 256 };

struct conn {
    int fd;
    uint32_t interest;
    struct buffer own; /* what is left of a write */
};

static int epoll;

static void watch(int operation, int fd, uint32_t interest, void *data)
{
    struct epoll_event event = {.events = interest, .data.ptr = data};
    if (epoll_ctl(epoll, operation, fd, &event) < 0)
        die("epoll_ctl", strerror(errno));
}

static void on_client(int listener)
{
    int fd;
    while ((fd = accept_next(listener)) >= 0) {
        struct conn *c = calloc(1, sizeof *c);
        if (c == NULL)
            die("calloc", strerror(errno));
        *c = (struct conn){.fd = fd, .interest = EPOLLIN};
        watch(EPOLL_CTL_ADD, fd, EPOLLIN, c);
    }
}

static void on_ready(struct conn *c)
{
    if (!serve(c->fd, &c->own, false)) {
        close(c->fd);
        free(c->own.data);
        free(c);
        return;
    }
    uint32_t interest = owed(&c->own) > 0 ? EPOLLOUT : EPOLLIN;
    if (interest != c->interest)
        watch(EPOLL_CTL_MOD, c->fd, interest, c);
    c->interest = interest;
}

int main(int argc, char **argv)
{
    static struct epoll_event events[EVENTS];
    int listener = start(argc, argv);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL)
                on_client(listener);
            else
                on_ready(events[i].data.ptr);
        }
    }
}

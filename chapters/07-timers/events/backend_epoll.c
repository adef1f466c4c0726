/* epoll(7), edge-triggered: the kernel keeps the list, and a wait returns what became ready. */
#include "events/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* One call reports at most this many; the next call reports the others. */
enum { BATCH = 256 };

struct state {
    int fd; /* the kernel's list */
    struct epoll_event batch[BATCH];
};

static void *epoll_open(void)
{
    struct state *s = malloc(sizeof *s);
    if (s == NULL)
        return NULL;
    s->fd = epoll_create1(0);
    if (s->fd < 0) {
        free(s);
        return NULL;
    }
    return s;
}

static void epoll_close(void *state)
{
    struct state *s = state;
    close(s->fd);
    free(s);
}

/* EPOLL_CTL_MOD and EPOLL_CTL_ADD look at the descriptor as it is now. So nothing is missed that
 * came while the event was not watched: it is reported as if it had just come. */
static bool epoll_set(void *state, int fd, unsigned before, unsigned after)
{
    struct state *s = state;
    struct epoll_event event = {.events = EPOLLET, .data.fd = fd};
    if (after & EVENT_READ)
        event.events |= EPOLLIN | EPOLLRDHUP | EPOLLPRI;
    if (after & EVENT_WRITE)
        event.events |= EPOLLOUT;
    int operation = EPOLL_CTL_MOD;
    if (before == 0)
        operation = EPOLL_CTL_ADD;
    if (after == 0)
        operation = EPOLL_CTL_DEL;
    return epoll_ctl(s->fd, operation, fd, &event) == 0;
}

static unsigned events_of(uint32_t reported)
{
    unsigned events = 0;
    if (reported & (EPOLLIN | EPOLLERR | EPOLLHUP))
        events |= EVENT_READ;
    if (reported & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        events |= EVENT_WRITE;
    if (reported & (EPOLLRDHUP | EPOLLPRI | EPOLLERR | EPOLLHUP))
        events |= EVENT_READ | EVENT_HANGUP;
    return events;
}

static int epoll_wait_ready(void *state, struct ready *ready, int max, int timeout_ms)
{
    struct state *s = state;
    int count = epoll_wait(s->fd, s->batch, max < BATCH ? max : BATCH, timeout_ms);
    for (int i = 0; i < count; i++)
        ready[i] = (struct ready){
            .fd = s->batch[i].data.fd,
            .events = events_of(s->batch[i].events),
        };
    return count;
}

const struct backend backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .set = epoll_set,
    .wait = epoll_wait_ready,
};

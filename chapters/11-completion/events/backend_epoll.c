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

/* EPOLLERR and EPOLLHUP are reported always: they need no bit. */
static bool control(struct state *s, int operation, int fd, unsigned interest, struct watch *watch)
{
    struct epoll_event event = {.events = EPOLLET, .data.ptr = watch};
    if (interest & EVENT_READ)
        event.events |= EPOLLIN | EPOLLRDHUP | EPOLLPRI;
    if (interest & EVENT_WRITE)
        event.events |= EPOLLOUT;
    return epoll_ctl(s->fd, operation, fd, &event) == 0;
}

/* EPOLL_CTL_ADD and EPOLL_CTL_MOD look at the descriptor as it is now. So nothing is missed that
 * came while the event was not watched: it is reported as if it had just come. */
static bool epoll_add(void *state, int fd, unsigned interest, struct watch *watch)
{
    return control(state, EPOLL_CTL_ADD, fd, interest, watch);
}

static bool epoll_set(void *state, int fd, unsigned interest, struct watch *watch)
{
    return control(state, EPOLL_CTL_MOD, fd, interest, watch);
}

static void epoll_del(void *state, int fd)
{
    control(state, EPOLL_CTL_DEL, fd, 0, NULL);
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
    if (reported & EPOLLERR)
        events |= EVENT_ERROR;
    return events;
}

static bool epoll_wait_ready(void *state, struct events *events, int timeout_ms)
{
    struct state *s = state;
    int count = epoll_wait(s->fd, s->batch, BATCH, timeout_ms);
    for (int i = 0; i < count; i++)
        events_report(events, s->batch[i].data.ptr, events_of(s->batch[i].events));
    return count >= 0;
}

const struct backend backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .add = epoll_add,
    .set = epoll_set,
    .del = epoll_del,
    .wait = epoll_wait_ready,
};

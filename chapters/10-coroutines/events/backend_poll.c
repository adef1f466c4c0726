/* poll(2): the list of all watched descriptors is passed to each call. */
#include "events/backend.h"

#include <poll.h>
#include <stdlib.h>

struct state {
    struct pollfd *polls;   /* indexed by descriptor; fd is -1 where nothing is watched */
    struct watch **watches; /* the same */
    int count;              /* in use */
    int cap;
};

static void *poll_open(void)
{
    return calloc(1, sizeof(struct state));
}

static void poll_close(void *state)
{
    struct state *s = state;
    free(s->polls);
    free(s->watches);
    free(s);
}

/* Makes both lists reach up to `fd`. False: no memory. */
static bool reach(struct state *s, int fd)
{
    if (fd >= s->cap) {
        int cap = 2 * (fd + 1);
        struct pollfd *polls = realloc(s->polls, (size_t)cap * sizeof *polls);
        if (polls == NULL)
            return false;
        s->polls = polls;
        struct watch **watches = realloc(s->watches, (size_t)cap * sizeof(struct watch *));
        if (watches == NULL)
            return false;
        s->watches = watches;
        s->cap = cap;
    }
    while (s->count <= fd)
        s->polls[s->count++] = (struct pollfd){.fd = -1};
    return true;
}

static bool poll_add(void *state, int fd, unsigned interest, struct watch *watch)
{
    struct state *s = state;
    if (!reach(s, fd))
        return false;
    s->watches[fd] = watch;
    s->polls[fd] = (struct pollfd){.fd = fd}; /* without a bit, POLLERR is reported all the same */
    if (interest & EVENT_READ)
        s->polls[fd].events |= POLLIN;
    if (interest & EVENT_WRITE)
        s->polls[fd].events |= POLLOUT;
    return true;
}

static void poll_del(void *state, int fd)
{
    struct state *s = state;
    s->polls[fd] = (struct pollfd){.fd = -1};
}

static unsigned events_of(short reported)
{
    unsigned events = 0;
    if (reported & (POLLIN | POLLERR | POLLHUP))
        events |= EVENT_READ;
    if (reported & (POLLOUT | POLLERR | POLLHUP))
        events |= EVENT_WRITE;
    if (reported & POLLERR)
        events |= EVENT_ERROR;
    return events;
}

static bool poll_wait(void *state, struct events *events, int timeout_ms)
{
    struct state *s = state;
    int left = poll(s->polls, (nfds_t)s->count, timeout_ms);
    bool waited = left >= 0;
    for (int fd = 0; left > 0; fd++) {
        short reported = s->polls[fd].revents;
        if (reported == 0)
            continue;
        left--;
        events_report(events, s->watches[fd], events_of(reported));
    }
    return waited;
}

const struct backend backend_poll = {
    .name = "poll",
    .open = poll_open,
    .close = poll_close,
    .add = poll_add,
    .set = poll_add, /* the old entry is replaced */
    .del = poll_del,
    .wait = poll_wait,
};

/* poll(2): the list of all watched descriptors is passed to each call. */
#include "events/backend.h"

#include <poll.h>
#include <stdlib.h>

struct state {
    struct pollfd *polls; /* indexed by descriptor; fd is -1 where nothing is watched */
    int count;            /* in use */
    int cap;
};

static void *poll_open(void)
{
    struct state *s = calloc(1, sizeof *s);
    return s;
}

static void poll_close(void *state)
{
    struct state *s = state;
    free(s->polls);
    free(s);
}

/* Makes the list reach up to `fd`. False: no memory. */
static bool reach(struct state *s, int fd)
{
    if (fd >= s->cap) {
        int cap = 2 * (fd + 1);
        struct pollfd *polls = realloc(s->polls, (size_t)cap * sizeof *polls);
        if (polls == NULL)
            return false;
        s->polls = polls;
        s->cap = cap;
    }
    while (s->count <= fd)
        s->polls[s->count++] = (struct pollfd){.fd = -1};
    return true;
}

static bool poll_set(void *state, int fd, unsigned before, unsigned after)
{
    struct state *s = state;
    (void)before;
    if (!reach(s, fd))
        return false;
    s->polls[fd] = (struct pollfd){.fd = after != 0 ? fd : -1};
    if (after & EVENT_READ)
        s->polls[fd].events |= POLLIN;
    if (after & EVENT_WRITE)
        s->polls[fd].events |= POLLOUT;
    return true;
}

static int poll_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    struct state *s = state;
    int left = poll(s->polls, (nfds_t)s->count, timeout_ms);
    if (left < 0)
        return -1;
    int count = 0;
    for (int fd = 0; left > 0 && count < max; fd++) {
        short revents = s->polls[fd].revents;
        if (revents == 0)
            continue;
        left--;
        unsigned events = 0;
        if (revents & (POLLIN | POLLERR | POLLHUP))
            events |= EVENT_READ;
        if (revents & (POLLOUT | POLLERR | POLLHUP))
            events |= EVENT_WRITE;
        ready[count++] = (struct ready){.fd = fd, .events = events};
    }
    return count;
}

const struct backend backend_poll = {
    .name = "poll",
    .open = poll_open,
    .close = poll_close,
    .set = poll_set,
    .wait = poll_wait,
};

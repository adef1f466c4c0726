/* select(2): three sets of bits, copied in and out at each call; no descriptor above 1,023. */
#include "events/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/select.h>

struct state {
    fd_set readers;
    fd_set writers;
    int end; /* above every descriptor in the sets */
};

static void *select_open(void)
{
    struct state *s = calloc(1, sizeof *s);
    return s;
}

static void select_close(void *state)
{
    free(state);
}

static bool select_set(void *state, int fd, unsigned before, unsigned after)
{
    struct state *s = state;
    (void)before;
    if (fd >= FD_SETSIZE) {
        errno = EMFILE;
        return false;
    }
    FD_CLR(fd, &s->readers);
    FD_CLR(fd, &s->writers);
    if (after & EVENT_READ)
        FD_SET(fd, &s->readers);
    if (after & EVENT_WRITE)
        FD_SET(fd, &s->writers);
    if (fd >= s->end)
        s->end = fd + 1;
    return true;
}

/* select() reports errors and hang-ups as readable, and as writable. */
static int select_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    struct state *s = state;
    fd_set readers = s->readers;
    fd_set writers = s->writers;
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (select(s->end, &readers, &writers, NULL, timeout_ms < 0 ? NULL : &limit) < 0)
        return -1;
    int count = 0;
    for (int fd = 0; fd < s->end && count < max; fd++) {
        unsigned events =
            (FD_ISSET(fd, &readers) ? EVENT_READ : 0) | (FD_ISSET(fd, &writers) ? EVENT_WRITE : 0);
        if (events != 0)
            ready[count++] = (struct ready){.fd = fd, .events = events};
    }
    return count;
}

const struct backend backend_select = {
    .name = "select",
    .open = select_open,
    .close = select_close,
    .set = select_set,
    .wait = select_wait,
};

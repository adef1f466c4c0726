/* io_uring(7) behind the event manager. Sockets are not watched here: co_uring.c begins operations
 * on them, and their completions come in the same wait. The manager watches one descriptor, its
 * own, on which other threads and signal handlers end this wait. */
#include "events/backend.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>

#include "net/ring.h"

struct state {
    struct ring *ring; /* owned */
    struct operation poll;
    int fd; /* the one that is watched */
};

static void watch(struct state *s)
{
    io_uring_prep_poll_multishot(ring_begin(s->ring, &s->poll), s->fd, POLLIN);
}

/* The wait has ended, and that was all that a wake-up is for. So it is not reported, and the
 * counter of the eventfd is never read: each write to it is one more completion. */
static void on_wake(struct operation *op, int result, unsigned flags)
{
    (void)flags;
    if (!op->in_flight && result != -ECANCELED)
        watch(op->context);
}

static void *uring_open(void)
{
    struct state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->poll = (struct operation){.completed = on_wake, .context = s};
    s->ring = ring_new();
    if (s->ring == NULL) {
        int saved_errno = errno;
        free(s);
        errno = saved_errno;
        return NULL;
    }
    return s;
}

static void uring_close(void *state)
{
    struct state *s = state;
    ring_free(s->ring);
    free(s);
}

static bool uring_set(void *state, int fd, unsigned before, unsigned after)
{
    struct state *s = state;
    if (after == 0) {
        ring_cancel(s->ring, &s->poll);
        return true;
    }
    if (before != 0 || s->poll.in_flight) {
        errno = EBUSY;
        return false;
    }
    s->fd = fd;
    watch(s);
    return true;
}

static int uring_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    struct state *s = state;
    (void)ready, (void)max;
    ring_turn(s->ring, timeout_ms);
    return 0;
}

static struct ring *uring_ring(void *state)
{
    struct state *s = state;
    return s->ring;
}

const struct backend backend_uring = {
    .name = "io_uring",
    .open = uring_open,
    .close = uring_close,
    .set = uring_set,
    .wait = uring_wait,
    .ring = uring_ring,
};

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

static void watch_wakeup(struct state *s)
{
    io_uring_prep_poll_multishot(ring_begin(s->ring, &s->poll), s->fd, POLLIN);
}

/* The wait has ended, and that was all that a wake-up is for. So it is not reported, and the
 * counter of the eventfd is never read: each write to it is one more completion. */
static void on_wake(struct operation *op, int result, unsigned flags)
{
    (void)flags;
    if (!op->in_flight && result != -ECANCELED)
        watch_wakeup(op->context);
}

static void *uring_open(void)
{
    struct state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->poll = (struct operation){.completed = on_wake, .context = s};
    s->ring = ring_new();
    if (s->ring == NULL) {
        free(s);
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

/* Reports nothing: completions have their own callbacks. */
static bool uring_add(void *state, int fd, unsigned interest, struct watch *watch)
{
    struct state *s = state;
    (void)interest, (void)watch;
    if (s->poll.in_flight) {
        errno = EBUSY;
        return false;
    }
    s->fd = fd;
    watch_wakeup(s);
    return true;
}

static bool uring_set(void *state, int fd, unsigned interest, struct watch *watch)
{
    (void)state, (void)fd, (void)interest, (void)watch;
    errno = EBUSY;
    return false;
}

static void uring_del(void *state, int fd)
{
    struct state *s = state;
    (void)fd;
    ring_cancel(s->ring, &s->poll);
}

static bool uring_wait(void *state, struct events *events, int timeout_ms)
{
    struct state *s = state;
    (void)events;
    ring_turn(s->ring, timeout_ms);
    return true;
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
    .add = uring_add,
    .set = uring_set,
    .del = uring_del,
    .wait = uring_wait,
    .ring = uring_ring,
};

#include "net/ring.h"

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/tools.h"
#include "net/lent.h"

/* Operations that can be begun before the kernel has to take some. There is space for twice as many
 * completions. The kernel keeps further ones until there is space again. To see what happens when
 * the rings are full, compile with -DRING_ENTRIES=2. */
#ifndef RING_ENTRIES
#define RING_ENTRIES 1024
#endif

/* The kernel may refuse a call for a moment, when it is short of memory. */
enum { REFUSAL_PAUSE_MS = 10, REFUSALS_MAX = 100 };

LIST_HEAD(operations, operation);

struct ring {
    struct io_uring rings;
    struct lent lent;
    struct operations cancelled; /* those that are still in flight */
    bool missed;                 /* a request has not found the operation that it is to cancel */
    bool enabled;                /* a thread has become its owner */
    int refusals;                /* calls in a row that the kernel has refused */
};

/* DEFER_TASKRUN: the kernel does its part of the work in ring_turn(), and does not interrupt us.
 * That needs a ring for one thread. The thread that makes it is another one than its owner, so the
 * ring is disabled at first. Linux before 6.1 does not know DEFER_TASKRUN, and before 6.0 it does
 * not have everything that we need. */
static const unsigned ring_flags[] = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
        IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_R_DISABLED | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER |
        IORING_SETUP_COOP_TASKRUN,
};

struct ring *ring_new(void)
{
    struct ring *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    int result = -EINVAL;
    size_t i = RUNNING_ON_VALGRIND ? 1 : 0; /* see wait_for_valgrind() */
    for (; i < sizeof ring_flags / sizeof *ring_flags && result == -EINVAL; i++)
        result = io_uring_queue_init(RING_ENTRIES, &r->rings, ring_flags[i]);
    if (result == 0 && !lent_open(&r->lent, &r->rings)) {
        result = -errno;
        io_uring_queue_exit(&r->rings);
    }
    if (result == 0)
        return r;
    free(r);
    errno = -result;
    return NULL;
}

void ring_free(struct ring *r)
{
    io_uring_queue_exit(&r->rings);
    lent_close(&r->lent); /* not before: the kernel may write into the buffers until now */
    free(r);
}

struct lent *ring_lent(struct ring *r)
{
    return &r->lent;
}

/* Looks at the result of a call that hands over operations. As long as the kernel takes none, no
 * client can be served. Calling again at once would only use up the processor, so there is a pause,
 * and only the first refusal is logged. If it lasts for a second, the server ends. */
static void check_taken(struct ring *r, int result)
{
    if (result >= 0 || result == -ETIME || result == -EINTR) { /* these end the wait, not more */
        r->refusals = 0;
        return;
    }
    errno = -result;
    if (r->refusals == 0)
        log_line("io_uring: %s", strerror(errno));
    if (++r->refusals > REFUSALS_MAX)
        die("io_uring");
    poll(NULL, 0, REFUSAL_PAUSE_MS);
}

/* TODO 1: Put operations into the ring, hand them over and wait with one system call, and pass
 * on what has completed. Graded by test_11_operations_complete.
 * If the ring is full, the kernel has to take some entries first; check_taken() looks at the
 * result of that call. submit_and_wait() needs a different function of liburing for 0, for -1
 * and for other times; with 0 it still lets the kernel do its work.
 * The user data of an entry comes back with its completion. More completions follow as long as
 * one has IORING_CQE_F_MORE; after the last one LIST_REMOVE() an operation that is cancelled. A
 * callback may free its operation. */
static struct io_uring_sqe *next_entry(struct ring *r)
{
    static _Thread_local struct io_uring_sqe nowhere;
    (void)r;
    return &nowhere;
}

struct io_uring_sqe *ring_begin(struct ring *r, struct operation *op)
{
    (void)op;
    return next_entry(r);
}

static int submit_and_wait(struct ring *r, int timeout_ms)
{
    (void)r;
    poll(NULL, 0, timeout_ms < 0 || timeout_ms > 10 ? 10 : timeout_ms);
    return 0;
}

static void complete(struct ring *r)
{
    (void)r;
}

/* TODO 5: Ask the kernel, with one more operation, to end another one. Graded by
 * test_11_cancelled_operations_complete.
 * Ask once for each operation that is in flight, and add it to `cancelled`. complete() has to
 * recognise the completion of the request itself, and sets `missed` if its result is below 0.
 * Then ask again for each operation that is left in the list, in cancel_again(). */
void ring_cancel(struct ring *r, struct operation *op)
{
    (void)r, (void)op;
}

static void cancel_again(struct ring *r)
{
    r->missed = false;
}

/* valgrind believes that the call which waits for completions never waits. During it, valgrind runs
 * no other thread, and delivers no signal. So under valgrind the wait is in poll(2), and without
 * DEFER_TASKRUN, which would not wake it. */
static void wait_for_valgrind(struct ring *r, int timeout_ms)
{
    struct pollfd rings = {.fd = r->rings.ring_fd, .events = POLLIN};
    io_uring_submit_and_get_events(&r->rings);
    if (io_uring_cq_ready(&r->rings) == 0)
        poll(&rings, 1, timeout_ms);
}

void ring_turn(struct ring *r, int timeout_ms)
{
    if (!r->enabled) {
        io_uring_register(r->rings.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
        r->enabled = true;
    }
    if (RUNNING_ON_VALGRIND) {
        wait_for_valgrind(r, timeout_ms);
        timeout_ms = 0;
    }
    check_taken(r, submit_and_wait(r, timeout_ms));
    complete(r);
    if (r->missed)
        cancel_again(r);
}

/* Two rings that this process shares with the kernel: io_uring(7). Operations go into one of them,
 * and their completions come back in the other.
 *
 *     ring_begin()  ->  | operation | operation | ...                ->  the kernel
 *     completed()   <-  | completion | completion | completion | ... <-
 *
 * No call is needed to put in an operation or to take out a completion. One call in each iteration
 * of the loop, ring_turn(), hands over all operations and waits for completions.
 *
 * From ring_begin() until its completion an operation is in flight. Until then it belongs to the
 * kernel, and so does all memory that it reads or writes: none of this may be changed, moved or
 * freed. Cancelling an operation is one more operation. The cancelled one still completes, and only
 * then its memory is yours again.
 *
 * One thread owns a ring: the first one that calls ring_turn(). */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct ring;
struct io_uring_sqe;

/* An operation, as part of whatever waits for it. The kernel returns a pointer to it with each
 * completion. It must be all zero, except for the first two fields, before it is begun. */
struct operation {
    /* `result` is what the system call would have returned, or -errno. `flags` is for lent.h. */
    void (*completed)(struct operation *op, int result, unsigned flags);
    void *context;
    /* Only ring.c writes the fields below. */
    bool in_flight;               /* its last completion has not come yet */
    bool cancelled;               /* ring_cancel() was called */
    LIST_ENTRY(operation) others; /* in flight and cancelled */
};

/* Owned by the caller. NULL: errno has the reason; the kernel may not have io_uring. */
struct ring *ring_new(void);

/* Operations that are in flight end, and none of them is completed. */
void ring_free(struct ring *r);

/* Begins an operation, which must not be in flight. The caller fills in the entry returned, with
 * a function of liburing such as io_uring_prep_send(). The kernel gets it in the next ring_turn(),
 * or before if many are begun. */
struct io_uring_sqe *ring_begin(struct ring *r, struct operation *op);

/* Asks the kernel to end an operation soon. It completes as usual: with what it has done, or with
 * -ECANCELED. Does nothing if it is not in flight. */
void ring_cancel(struct ring *r, struct operation *op);

/* Hands over what was begun, and waits until there is a completion, at most `timeout_ms` (-1: no
 * limit). Then calls `completed` for every completion that has come. */
void ring_turn(struct ring *r, int timeout_ms);

/* The buffers that the ring lends to receiving operations. */
struct lent *ring_lent(struct ring *r);

#endif

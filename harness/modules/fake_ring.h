/* A kernel of the grader's own, behind liburing: it replaces those functions of that library that
 * make a system call and that the handout of 11 names. The two rings are memory of the program. An
 * operation that is submitted here is kept, and it is carried out, with a real call, when the check
 * lets it complete.
 *
 * So it is certain what a real kernel decides by chance: that an operation completes late, that a
 * ring is full, that a send takes a part. The kernel may use the memory of an operation until the
 * completion. Here it looks at this memory, which has to stay as it was, and it writes into each
 * lent buffer that it gets back.
 *
 * One ring exists at a time. */
#ifndef GRADER_FAKE_RING_H
#define GRADER_FAKE_RING_H

#include <liburing.h>
#include <stdbool.h>

/* What the next ring is like: set this before it is made. All 0: it has space for everything. */
struct fake_ring_plan {
    unsigned entries; /* at most so many in the ring of operations: a power of 2 */
    unsigned buffers; /* so many lent buffers are free, and others hold the remaining ones */
    unsigned piece;   /* a send moves at most so many bytes */
    unsigned late;    /* an operation completes so many calls after it is over */
    int slow;         /* this kind of operation (IORING_OP_...) after twice as many */
    const char *hint; /* of a failure that is found here */
};

extern struct fake_ring_plan fake_ring_plan;

/* What the ring has seen. */
struct fake_ring_seen {
    int calls;       /* that submit, wait, or both */
    int waits;       /* of these, those that would have waited */
    long long limit; /* of the last call, in ms: 0 does not wait, -1 has no limit */
    int cancels;     /* requests to cancel an operation */
};

extern struct fake_ring_seen fake_ring_seen;

/* While this is set, operations do not complete unless they are cancelled. */
extern bool fake_ring_held;

/* So many requests to cancel from now on find nothing (-ENOENT). */
extern int fake_ring_missed;

/* So many calls from now on take no operation, and return -ENOMEM. After FAKE_RING_REFUSALS of them
 * the process exits with FAKE_RING_SPINS. */
extern int fake_ring_refusals;

enum { FAKE_RING_REFUSALS = 1000, FAKE_RING_SPINS = 77 };

/* From now on, `first` operations of this kind (IORING_OP_...) are carried out as usual. The next one
 * completes with this result, and moves nothing. */
void fake_ring_fail(int opcode, int first, int result);

/* How many operations on this descriptor are in flight. */
int fake_ring_in_flight(int fd);

/* How many lent buffers the ring has now: those that were given to it, without those that it has
 * filled. */
unsigned fake_ring_buffers(void);

/* Takes the next free buffer out, as a receiving operation does. Returns its number, or -1. */
int fake_ring_take_buffer(void **memory, unsigned *size);

#endif

/* A kernel of the grader's own, behind liburing: it replaces the functions of that library that
 * make a system call. The two rings are memory of the program. An operation that is submitted here
 * is kept, and it is carried out, with a real call, when the check lets it complete.
 *
 * So it is certain what a real kernel decides by chance: that an operation completes late, that a
 * ring is full, that a send takes a part. The kernel may use the memory of an operation until the
 * completion. Here it does: it writes into memory that input is received into, and compares memory
 * that is sent. free() and realloc() fail the check when an operation still uses the memory.
 *
 * One ring exists at a time. */
#ifndef GRADER_FAKE_RING_H
#define GRADER_FAKE_RING_H

#include <liburing.h>
#include <stdbool.h>

/* What the next ring is like: set this before it is made. All 0: as asked for. */
struct fake_ring_plan {
    unsigned entries; /* at most so many in the ring of operations */
    unsigned buffers; /* so many lent buffers are free, and others hold the remaining ones */
    unsigned piece;   /* a send moves at most so many bytes */
    unsigned late;    /* an operation completes so many calls after it is over */
    int slow;         /* those of this kind (IORING_OP_...) after twice as many */
    const char *hint; /* of a failure that is found here */
};

extern struct fake_ring_plan fake_ring_plan;

/* What the ring has seen. */
struct fake_ring_seen {
    int calls;       /* that submit, wait, or both */
    int waits;       /* of these, those that would have waited */
    long long limit; /* of the last call, in ms: 0 does not wait, -1 has no limit */
    int submitted;   /* operations, without requests to cancel one */
    int cancels;     /* requests to cancel one */
    int completed;   /* last completions of operations */
};

extern struct fake_ring_seen fake_ring_seen;

/* The hint of a failure that is found here. */
const char *fake_ring_hint(void);

/* While this is set, operations do not complete unless they are cancelled. */
extern bool fake_ring_held;

/* So many requests to cancel from now on find nothing (-ENOENT). */
extern int fake_ring_missed;

/* So many calls from now on take no operation and return -error; after as many more than
 * FAKE_RING_REFUSALS the process exits with FAKE_RING_SPINS. */
void fake_ring_refuse(int calls, int error);

enum { FAKE_RING_REFUSALS = 1000, FAKE_RING_SPINS = 77 };

/* The next operation of this kind (IORING_OP_...) completes with this result, and moves nothing. */
void fake_ring_fail_next(int opcode, int result);

/* Before that, so many operations of this kind are carried out as usual. */
void fake_ring_skip_next(int opcode, int count);

/* How many operations are in flight: on this descriptor, or all (-1). */
int fake_ring_in_flight(int fd);

/* How many of these are of this kind. */
int fake_ring_of_kind(int fd, int opcode);

/* How many lent buffers the ring has now: those that were given to it, without those that it has
 * filled. */
unsigned fake_ring_buffers(void);

/* Takes the next free buffer out, as a receiving operation does. Returns its number, or -1. */
int fake_ring_take_buffer(void **memory, unsigned *size);

#endif

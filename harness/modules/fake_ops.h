/* The operations in flight of fake_ring.h, as the kernel has them. */
#ifndef GRADER_FAKE_OPS_H
#define GRADER_FAKE_OPS_H

#include <liburing.h>

/* Takes over an operation, and tries it at once, as the kernel does. */
void fake_ops_submit(const struct io_uring_sqe *entry);

/* A request to cancel others. Returns how it completes. */
int fake_ops_cancel(const struct io_uring_sqe *request);

/* Tries every operation that was not tried in this call. */
void fake_ops_run(void);

/* Nothing is in flight any more, and nothing completes. */
void fake_ops_forget(void);

/* fake_ring.c: a completion. */
void fake_ring_post(uint64_t user_data, int result, unsigned flags);

/* fake_ring.c: looks at the lent buffers that were given back since the last time, and writes into
 * them: a buffer belongs to the kernel as soon as it is there. */
void fake_ring_look_at_lent(void);

#endif

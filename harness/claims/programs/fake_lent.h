/* The lent buffers of fake_ring.h: the ring of those that are free, as the kernel sees it. */
#ifndef GRADER_FAKE_LENT_H
#define GRADER_FAKE_LENT_H

#include <liburing.h>

void fake_lent_open(const struct io_uring_buf_reg *group);
void fake_lent_close(void);

/* Looks at what was given to the ring since the last time, and writes into it: a buffer belongs to
 * the kernel as soon as it is there. */
void fake_lent_look(void);

#endif

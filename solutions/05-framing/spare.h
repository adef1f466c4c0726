/* The spare block: one block of memory that no buffer uses now, kept for the next one that grows.
 *
 * New memory is slow: the kernel has to clear each page of it. With the spare block, an idle
 * connection owns no memory, and a busy one hardly ever needs new memory. */
#ifndef SPARE_H
#define SPARE_H

#include <stddef.h>

struct block; /* see buffer.h */

/* The spare block, if at least `cap` bytes fit into it: the caller owns it from then on. NULL:
 * there is none, or it is smaller. */
struct block *spare_take(size_t cap);

/* Keeps a block that the caller owned; NULL is no block. If there is a spare block already, the
 * larger one stays and the other is freed. */
void spare_keep(struct block *block);

/* Frees the spare block. */
void spare_free(void);

#endif

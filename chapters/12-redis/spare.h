/* The spare block: one block of memory that no buffer uses now, kept for the next one that grows.
 * Each thread has its own.
 *
 * New memory is slow: the kernel has to clear each page of it. With the spare block, an idle
 * connection owns no memory, and a busy one hardly ever needs new memory. */
#ifndef SPARE_H
#define SPARE_H

#include <stddef.h>
#include <stdint.h>

/* The spare block, if it has at least *size bytes: the caller owns it from then on, and *size is
 * its size. NULL: there is none, or it is smaller. */
uint8_t *spare_take(size_t *size);

/* Keeps a block of `size` bytes, which the caller owned. If there is a spare block already, the
 * larger one stays and the other is freed. */
void spare_keep(uint8_t *data, size_t size);

/* Frees the spare block. */
void spare_free(void);

#endif

/* A queue of bytes that grows: bytes go in at the tail and come out at the head.
 *
 *     data       data + start       data + end       data + cap
 *     |  consumed  |    bytes held    |     free      |
 *     +------------+------------------+---------------+
 *                  ^ buffer_head      ^ buffer_tail
 *
 * The positions are kept in the block of memory, in front of the bytes. So a buffer is one pointer.
 * All zero is an empty buffer that owns no memory. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block {
    struct block *next; /* of a spare block, the next one */
    size_t start;
    size_t end;
    size_t cap; /* how many bytes fit into `data` */
    uint8_t data[];
};

struct buffer {
    struct block *block; /* owned; NULL: no memory */
};

/* How many bytes are held. */
size_t buffer_len(const struct buffer *b);

/* The first byte held, and the place of the next byte; NULL without a block. Both are valid until
 * the next buffer_reserve, buffer_append, buffer_move or buffer_trim. */
uint8_t *buffer_head(const struct buffer *b);
uint8_t *buffer_tail(const struct buffer *b);

/* Counts `size` bytes that were written at the tail, into space reserved before. */
void buffer_fill(struct buffer *b, size_t size);

/* Makes free space for `room` more bytes at the tail. False: no memory; nothing has changed. */
bool buffer_reserve(struct buffer *b, size_t room);

/* Drops `size` bytes, at most buffer_len, from the head. The cost does not depend on how many are
 * held. */
void buffer_consume(struct buffer *b, size_t size);

/* Copies `size` bytes to the tail. False: no memory; nothing has changed. */
bool buffer_append(struct buffer *b, const uint8_t *bytes, size_t size);

/* Moves `size` bytes, at most buffer_len(from), from the head of one buffer to the tail of another.
 * False: no memory; nothing has changed. */
bool buffer_move(struct buffer *to, struct buffer *from, size_t size);

/* Gives back the memory that the bytes held do not need: all of it when none is held. */
void buffer_trim(struct buffer *b);

/* Frees all the memory. The buffer is empty and can be used again. */
void buffer_free(struct buffer *b);

/* Frees the spare blocks: a few blocks that no buffer uses now, kept for buffers that grow. New
 * memory is slow, because the kernel has to clear each page of it. With the spare blocks, an idle
 * connection owns no memory, and a busy one hardly ever needs new memory. */
void spare_free(void);

#endif

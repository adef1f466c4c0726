/* A byte buffer that grows as bytes are added.
 *
 *     data            data + len             data + cap
 *     |  bytes held    |  free               |
 *     +----------------+---------------------+
 *                      ^ buffer_tail
 *
 * All zero is an empty buffer that owns no memory. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t len;
    size_t cap;
};

/* Makes free space for `room` more bytes at the tail. False: no memory; nothing has changed. */
bool buffer_reserve(struct buffer *b, size_t room);

/* Where the next byte goes. Valid until the next buffer_reserve. */
uint8_t *buffer_tail(const struct buffer *b);

/* Counts `size` bytes that were written at the tail, into space reserved before. */
void buffer_fill(struct buffer *b, size_t size);

/* Forgets the bytes held and keeps the memory. */
void buffer_clear(struct buffer *b);

/* Gives the memory back. The buffer is empty and can be used again. */
void buffer_free(struct buffer *b);

#endif

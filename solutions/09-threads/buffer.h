/* A byte queue that grows with what is put into it: in at the tail, out at the head.
 *
 *     data       data + start       data + end       data + cap
 *     |  consumed  |    bytes held    |     free      |
 *     +------------+------------------+---------------+
 *                  ^ buffer_head      ^ buffer_tail
 *
 * All zero is an empty buffer that owns no memory. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t *data;
    size_t start;
    size_t end;
    size_t cap;
};

/* How many bytes are held. */
size_t buffer_len(const struct buffer *b);

/* Makes room for `room` more bytes behind the ones held. False: no memory; nothing has changed. */
bool buffer_reserve(struct buffer *b, size_t room);

/* The first byte held, and where the next byte goes. Valid until the next buffer_reserve,
 * buffer_append, buffer_move or buffer_trim. */
uint8_t *buffer_head(const struct buffer *b);
uint8_t *buffer_tail(const struct buffer *b);

/* Counts `size` bytes that were written at the tail, into room reserved before. */
void buffer_fill(struct buffer *b, size_t size);

/* Copies `size` bytes to the tail. False: no memory; nothing has changed. */
bool buffer_append(struct buffer *b, const uint8_t *bytes, size_t size);

/* Drops `size` bytes, at most buffer_len, from the head: at the same cost however many are held. */
void buffer_consume(struct buffer *b, size_t size);

/* Drops `size` bytes, at most buffer_len, from the tail. */
void buffer_cut(struct buffer *b, size_t size);

/* Moves `size` bytes, at most buffer_len(from), from the head of one buffer to the tail of another;
 * into an empty one without copying them, unless they are few. False: no memory; nothing has
 * changed. */
bool buffer_move(struct buffer *to, struct buffer *from, size_t size);

/* Gives back memory that a larger use has left behind: all of it when no byte is held. */
void buffer_trim(struct buffer *b);

/* Gives all the memory back. The buffer is empty and can be used again. */
void buffer_free(struct buffer *b);

/* What buffer_trim gives back is kept for the next buffer that grows, by the same thread. Frees
 * that. */
void buffer_free_spare(void);

#endif

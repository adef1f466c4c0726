#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "spare.h"

#define SMALL_BYTES (64u << 10) /* copying so few bytes is cheaper than keeping a large block */

size_t buffer_len(const struct buffer *b)
{
    return b->end - b->start;
}

uint8_t *buffer_head(const struct buffer *b)
{
    return b->data + b->start;
}

uint8_t *buffer_tail(const struct buffer *b)
{
    return b->data + b->end;
}

void buffer_fill(struct buffer *b, size_t size)
{
    b->end += size;
}

/* Whether the kernel reads from the block that holds the bytes. */
static bool is_pinned(const struct buffer *b)
{
    return b->pinned != NULL && b->pinned == b->data;
}

/* Moves the bytes held into another block, which the buffer owns from then on. */
static void move_to(struct buffer *b, uint8_t *data, size_t cap)
{
    struct buffer old = *b;
    *b = (struct buffer){.data = data, .end = buffer_len(&old), .cap = cap};
    b->pinned = old.pinned;
    if (b->end > 0)
        memcpy(data, buffer_head(&old), b->end);
    if (old.data != old.pinned)
        spare_keep(old.data, old.cap);
}

/* Gets a block of at least `cap` bytes: the spare one, or else a larger one from realloc(). False:
 * no memory; nothing has changed. */
static bool grow(struct buffer *b, size_t cap)
{
    uint8_t *data = spare_take(&cap);
    if (data != NULL) {
        move_to(b, data, cap);
        return true;
    }
    if (is_pinned(b)) { /* realloc() could move it */
        data = malloc(cap);
        if (data != NULL)
            move_to(b, data, cap);
        return data != NULL;
    }
    data = realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

/* Moves the bytes held to the front of the block. */
static void slide(struct buffer *b)
{
    size_t len = buffer_len(b);
    if (len > 0)
        memmove(b->data, buffer_head(b), len);
    b->start = 0;
    b->end = len;
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    if (b->cap - b->end >= room)
        return true;
    /* Each byte that slides pays with a byte that was consumed since the last time: O(1) a byte.
     * Doubling costs O(1) a byte as well, however small the pieces that come in. */
    if (b->start >= buffer_len(b) && !is_pinned(b))
        slide(b);
    if (b->cap - b->end >= room)
        return true;
    size_t cap = 2 * b->cap;
    if (cap < b->end + room)
        cap = b->end + room;
    return grow(b, cap);
}

void buffer_consume(struct buffer *b, size_t size)
{
    b->start += size;
}

void buffer_cut(struct buffer *b, size_t size)
{
    b->end -= size;
}

bool buffer_append(struct buffer *b, const uint8_t *bytes, size_t size)
{
    if (!buffer_reserve(b, size))
        return false;
    memcpy(buffer_tail(b), bytes, size);
    buffer_fill(b, size);
    return true;
}

bool buffer_move(struct buffer *to, struct buffer *from, size_t size)
{
    size_t left = buffer_len(from) - size;
    if (buffer_len(to) > 0 || size < left) {
        if (!buffer_append(to, buffer_head(from), size))
            return false;
        buffer_consume(from, size);
        return true;
    }
    /* `to` is empty, and fewer bytes stay than move: those that stay are copied, and the two
     * buffers are swapped. */
    if (left > 0 && !buffer_append(to, buffer_head(from) + size, left))
        return false;
    struct buffer moved = *from;
    moved.end -= left;
    *from = *to;
    *to = moved;
    return true;
}

void buffer_trim(struct buffer *b)
{
    size_t len = buffer_len(b);
    if (len == 0) {
        spare_keep(b->data, b->cap);
        *b = (struct buffer){0};
    } else if (len <= SMALL_BYTES && len <= b->cap / 4) {
        uint8_t *data = malloc(len);
        if (data != NULL)
            move_to(b, data, len);
    }
}

void buffer_pin(struct buffer *b)
{
    b->pinned = b->data;
}

void buffer_unpin(struct buffer *b)
{
    if (b->pinned != b->data)
        free(b->pinned);
    b->pinned = NULL;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

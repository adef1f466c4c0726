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

/* Moves the bytes held into another block, which the buffer owns from then on. */
static void move_to(struct buffer *b, uint8_t *data, size_t cap)
{
    struct buffer old = *b;
    *b = (struct buffer){.data = data, .end = buffer_len(&old), .cap = cap};
    if (b->end > 0)
        memcpy(data, buffer_head(&old), b->end);
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
    data = realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

/* How many bytes are free behind those held. */
static size_t behind(const struct buffer *b)
{
    return b->cap - b->end;
}

/* Uses the bytes in front again, if at least half of what is in use has been consumed. */
static void compact(struct buffer *b)
{
    if (b->start * 2 < b->end)
        return;
    const uint8_t *from = buffer_head(b);
    for (b->end -= b->start, b->start = 0; b->end && from != b->data; from = b->data)
        memmove(b->data, from, b->end);
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    if (behind(b) < room)
        compact(b);
    if (behind(b) < room) {
        const size_t least = b->end + room, twice = b->cap << 1;
        return grow(b, least > twice ? least : twice);
    }
    return true;
}

void buffer_consume(struct buffer *b, size_t size)
{
    if (size == buffer_len(b))
        b->start = b->end = 0;
    else
        b->start = b->start + size;
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
    const size_t held = buffer_len(b);
    if (held > SMALL_BYTES)
        return;
    if (held != 0 && b->cap < 4 * held)
        return;
    uint8_t *tight = held ? malloc(held) : NULL;
    if (tight)
        memcpy(tight, buffer_head(b), held);
    else if (held)
        return;
    spare_keep(b->data, b->cap);
    b->data = tight;
    b->cap = b->end = held;
    b->start = 0;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

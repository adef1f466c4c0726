#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#define REST_BYTES (64u << 10) /* up to here copying a rest is cheaper than keeping its block */

/* The block that was given back last, for the next buffer that grows. New memory costs more than it
 * seems: the kernel clears every page of it. So no idle connection owns a block, and a busy one
 * hardly ever needs a new one. Each thread has its own. */
static _Thread_local struct {
    uint8_t *data;
    size_t cap;
} spare;

size_t buffer_len(const struct buffer *b)
{
    return b->end - b->start;
}

/* Makes a block that nobody needs the spare one; of two, the larger. */
static void put_aside(uint8_t *data, size_t cap)
{
    if (cap > spare.cap) {
        uint8_t *smaller = spare.data;
        spare.data = data;
        spare.cap = cap;
        data = smaller;
    }
    free(data);
}

/* Goes on in another block, with the bytes held at its front. */
static void move_to(struct buffer *b, uint8_t *data, size_t cap)
{
    struct buffer before = *b;
    *b = (struct buffer){.data = data, .end = buffer_len(&before), .cap = cap};
    if (b->end > 0)
        memcpy(data, buffer_head(&before), b->end);
    put_aside(before.data, before.cap);
}

/* Moves the bytes held to the front. */
static void slide(struct buffer *b)
{
    size_t len = buffer_len(b);
    if (len > 0)
        memmove(b->data, b->data + b->start, len);
    b->start = 0;
    b->end = len;
}

/* Goes on in a larger block, of at least `cap` bytes. False: no memory; nothing has changed. */
static bool grow(struct buffer *b, size_t cap)
{
    if (spare.cap >= cap) {
        uint8_t *data = spare.data;
        cap = spare.cap;
        spare.data = NULL;
        spare.cap = 0;
        move_to(b, data, cap);
        return true;
    }
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    if (b->cap - b->end >= room)
        return true;
    /* Sliding moves no more bytes than were consumed since the last time, so it costs O(1) a byte
     * in the long run. So does doubling, however small the pieces that come in. */
    if (b->start >= buffer_len(b))
        slide(b);
    if (b->cap - b->end >= room)
        return true;
    size_t cap = 2 * b->cap;
    if (cap < b->end + room)
        cap = b->end + room;
    return grow(b, cap);
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

bool buffer_append(struct buffer *b, const uint8_t *bytes, size_t size)
{
    if (!buffer_reserve(b, size))
        return false;
    memcpy(buffer_tail(b), bytes, size);
    buffer_fill(b, size);
    return true;
}

void buffer_consume(struct buffer *b, size_t size)
{
    b->start += size;
}

void buffer_cut(struct buffer *b, size_t size)
{
    b->end -= size;
}

bool buffer_move(struct buffer *to, struct buffer *from, size_t size)
{
    size_t rest = buffer_len(from) - size;
    if (buffer_len(to) > 0 || size < rest) {
        if (!buffer_append(to, buffer_head(from), size))
            return false;
        buffer_consume(from, size);
        return true;
    }
    /* The rest is the smaller part: it is copied, and then the buffers change places. */
    if (rest > 0 && !buffer_append(to, buffer_head(from) + size, rest))
        return false;
    struct buffer whole = *from;
    whole.end -= rest;
    *from = *to;
    *to = whole;
    return true;
}

void buffer_trim(struct buffer *b)
{
    size_t len = buffer_len(b);
    if (len == 0) {
        put_aside(b->data, b->cap);
        *b = (struct buffer){0};
    } else if (len <= REST_BYTES && len <= b->cap / 4) {
        uint8_t *data = malloc(len);
        if (data != NULL)
            move_to(b, data, len);
    }
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

void buffer_free_spare(void)
{
    free(spare.data);
    spare.data = NULL;
    spare.cap = 0;
}

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES (64u << 10) /* copying so few bytes is cheaper than keeping a large block */

/* The spare blocks are at most this much together: so a larger block is never kept. */
#define SPARE_MAX_BYTES (2u << 20)

static struct block *spares; /* owned; linked by `next` */
static size_t spare_bytes;   /* the sum of their `cap` */

/* Unlinks *at from the list of spare blocks and returns it. The caller owns it from then on. */
static struct block *spare_take(struct block **at)
{
    struct block *block = *at;
    *at = block->next;
    spare_bytes -= block->cap;
    return block;
}

/* Keeps a block that the caller owned, in the place of others if need be. NULL is no block. Small
 * blocks are left to malloc(), which is quick with them. */
static void spare_keep(struct block *block)
{
    if (block == NULL || block->cap < SMALL_BYTES || block->cap > SPARE_MAX_BYTES) {
        free(block);
        return;
    }
    while (block->cap > SPARE_MAX_BYTES - spare_bytes)
        free(spare_take(&spares));
    *block = (struct block){.next = spares, .cap = block->cap};
    spares = block;
    spare_bytes += block->cap;
}

void spare_free(void)
{
    while (spares != NULL)
        free(spare_take(&spares));
}

/* An empty block for `cap` bytes or more: a spare one, unless each of them is too small, or more
 * than four times too large. NULL: no memory. */
static struct block *new_block(size_t cap)
{
    for (struct block **at = &spares; *at != NULL; at = &(*at)->next)
        if ((*at)->cap >= cap && (*at)->cap / 4 <= cap)
            return spare_take(at);
    struct block *block = malloc(sizeof *block + cap);
    if (block != NULL)
        *block = (struct block){.cap = cap};
    return block;
}

size_t buffer_len(const struct buffer *b)
{
    return b->block == NULL ? 0 : b->block->end - b->block->start;
}

uint8_t *buffer_head(const struct buffer *b)
{
    return b->block == NULL ? NULL : b->block->data + b->block->start;
}

uint8_t *buffer_tail(const struct buffer *b)
{
    return b->block == NULL ? NULL : b->block->data + b->block->end;
}

void buffer_fill(struct buffer *b, size_t size)
{
    b->block->end += size;
}

/* Moves the bytes held into another block, which the buffer owns from then on. */
static void move_to(struct buffer *b, struct block *block)
{
    block->start = 0;
    block->end = buffer_len(b);
    if (block->end > 0)
        memcpy(block->data, buffer_head(b), block->end);
    spare_keep(b->block);
    b->block = block;
}

/* Gets a block of `cap` bytes or more. False: no memory; nothing has changed. */
static bool grow(struct buffer *b, size_t cap)
{
    struct block *block = new_block(cap);
    if (block == NULL)
        return false;
    move_to(b, block);
    return true;
}

// BEGIN byte_queue
/* Moves the bytes held to the front of the block. */
static void slide(struct buffer *b)
{
    struct block *block = b->block;
    size_t len = buffer_len(b);
    if (len > 0)
        memmove(block->data, buffer_head(b), len);
    block->start = 0;
    block->end = len;
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    const struct block *block = b->block;
    if (block == NULL)
        return grow(b, room);
    if (block->cap - block->end >= room)
        return true;
    /* Each byte that slides pays with a byte that was consumed since the last time: O(1) a byte.
     * Doubling costs O(1) a byte as well, however small the pieces that come in. */
    if (block->start >= buffer_len(b))
        slide(b);
    if (block->cap - block->end >= room)
        return true;
    size_t cap = 2 * block->cap;
    if (cap < block->end + room)
        cap = block->end + room;
    return grow(b, cap);
}

void buffer_consume(struct buffer *b, size_t size)
{
    if (size > 0) /* else there may be no block */
        b->block->start += size;
}
// END byte_queue

void buffer_cut(struct buffer *b, size_t size)
{
    if (size > 0) /* else there may be no block */
        b->block->end -= size;
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
    if (size == 0)
        return true;
    size_t left = buffer_len(from) - size;
    if (buffer_len(to) > 0 || size < left) {
        if (!buffer_append(to, buffer_head(from), size))
            return false;
        buffer_consume(from, size);
        return true;
    }
    /* `to` is empty, and fewer bytes stay than move: those that stay are copied, and the two
     * blocks are swapped. */
    if (left > 0 && !buffer_append(to, buffer_head(from) + size, left))
        return false;
    struct block *moved = from->block;
    moved->end -= left;
    from->block = to->block;
    to->block = moved;
    return true;
}

void buffer_trim(struct buffer *b)
{
    // BEGIN trim
    size_t len = buffer_len(b);
    if (len == 0) {
        spare_keep(b->block);
        b->block = NULL;
    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
        struct block *block = new_block(len);
        if (block != NULL)
            move_to(b, block);
    }
    // END trim
}

void buffer_free(struct buffer *b)
{
    free(b->block);
    b->block = NULL;
}

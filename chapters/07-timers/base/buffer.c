#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES (64u << 10) /* copying so few bytes is cheaper than keeping a large block */

static struct block *spare; /* owned; NULL: there is none */

/* The spare block, if at least `cap` bytes fit into it: the caller owns it from then on. NULL:
 * there is none, or it is smaller. */
static struct block *spare_take(size_t cap)
{
    if (spare == NULL || spare->cap < cap)
        return NULL;
    struct block *taken = spare;
    spare = NULL;
    return taken;
}

/* Keeps a block that the caller owned; NULL is no block. If there is a spare block already, the
 * larger one stays and the other is freed. */
static void spare_keep(struct block *block)
{
    if (spare == NULL || (block != NULL && block->cap > spare->cap)) {
        struct block *smaller = spare;
        spare = block;
        block = smaller;
    }
    free(block);
}

void spare_free(void)
{
    free(spare);
    spare = NULL;
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

/* A block that holds nothing. NULL: no memory. */
static struct block *new_block(size_t cap)
{
    struct block *block = malloc(sizeof *block + cap);
    if (block != NULL)
        *block = (struct block){.cap = cap};
    return block;
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

/* Gets a block of at least `cap` bytes: the spare one, or else a larger one from realloc(). False:
 * no memory; nothing has changed. */
static bool grow(struct buffer *b, size_t cap)
{
    struct block *block = spare_take(cap);
    if (block != NULL) {
        move_to(b, block);
        return true;
    }
    if (b->block == NULL) {
        b->block = new_block(cap);
        return b->block != NULL;
    }
    block = realloc(b->block, sizeof *block + cap);
    if (block == NULL)
        return false;
    block->cap = cap;
    b->block = block;
    return true;
}

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
    size_t len = buffer_len(b);
    if (len == 0) {
        spare_keep(b->block);
        b->block = NULL;
    } else if (len <= SMALL_BYTES && len <= b->block->cap / 4) {
        struct block *block = new_block(len);
        if (block != NULL)
            move_to(b, block);
    }
}

void buffer_free(struct buffer *b)
{
    free(b->block);
    b->block = NULL;
}

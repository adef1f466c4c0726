#include "buffer.h"

#include <stdlib.h>

bool buffer_reserve(struct buffer *b, size_t room)
{
    // BEGIN reserve
    if (b->cap - b->len >= room)
        return true;
    /* Doubling: adding n bytes costs O(n) copying, however small the pieces are. */
    size_t cap = 2 * b->cap;
    if (cap < b->len + room)
        cap = b->len + room;
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
    // END reserve
}

uint8_t *buffer_tail(const struct buffer *b)
{
    return b->data + b->len;
}

void buffer_fill(struct buffer *b, size_t size)
{
    b->len += size;
}

void buffer_clear(struct buffer *b)
{
    b->len = 0;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

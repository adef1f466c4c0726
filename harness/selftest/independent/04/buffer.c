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

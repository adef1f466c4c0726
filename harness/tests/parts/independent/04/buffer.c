/* How many bytes are free behind those held. */
static size_t behind(const struct buffer *b)
{
    return b->block ? b->block->cap - b->block->end : 0;
}

/* Uses the bytes in front again, if at least half of what is in use has been consumed. */
static void compact(struct block *full)
{
    if (full->start * 2 < full->end)
        return;
    const uint8_t *from = full->data + full->start;
    for (full->end -= full->start, full->start = 0; full->end && from != full->data;
         from = full->data)
        memmove(full->data, from, full->end);
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    if (b->block && behind(b) < room)
        compact(b->block);
    if (!b->block || behind(b) < room) {
        const size_t least = room + (b->block ? b->block->end : 0);
        const size_t twice = b->block ? b->block->cap << 1 : 0;
        return grow(b, least > twice ? least : twice);
    }
    return true;
}

void buffer_consume(struct buffer *b, size_t size)
{
    struct block *holding = b->block;
    if (size == 0)
        return;
    if (size == buffer_len(b))
        holding->start = holding->end = 0;
    else
        holding->start = holding->start + size;
}

void buffer_trim(struct buffer *b)
{
    const size_t held = buffer_len(b);
    if (held > SMALL_BYTES)
        return;
    if (held != 0 && b->block->cap < 4 * held)
        return;
    struct block *tight = held ? new_block(held) : NULL;
    if (held && !tight)
        return;
    if (tight) {
        memcpy(tight->data, buffer_head(b), held);
        tight->end = held;
    }
    spare_keep(b->block);
    b->block = tight;
}

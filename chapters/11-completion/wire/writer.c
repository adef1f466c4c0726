#include "wire/writer.h"

#include "wire/frame.h"

void writer_bytes(struct writer *w, const uint8_t *data, size_t size)
{
    if (!w->failed && !buffer_append(w->out, data, size))
        w->failed = true;
}

/* Puts the lowest `size` bytes of a number at `to`, the lowest byte first. */
static void put_bits(uint8_t *to, size_t size, uint64_t bits)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(bits >> 8 * i);
}

static void write_bits(struct writer *w, size_t size, uint64_t bits)
{
    uint8_t bytes[sizeof bits];
    put_bits(bytes, size, bits);
    writer_bytes(w, bytes, size);
}

void writer_begin(struct writer *w, struct buffer *out)
{
    *w = (struct writer){.out = out, .frame = buffer_len(out)};
    write_bits(w, FRAME_HEADER_BYTES, 0); /* the place of the length */
}

void writer_string(struct writer *w, const uint8_t *data, uint32_t size)
{
    uint32_t rest = size;
    while (rest > 0x7f) {
        write_bits(w, 1, rest | 0x80);
        rest >>= 7;
    }
    write_bits(w, 1, rest);
    writer_bytes(w, data, size);
}

bool writer_end(struct writer *w)
{
    size_t size = buffer_len(w->out) - w->frame;
    if (w->failed) {
        buffer_cut(w->out, size);
        return false;
    }
    /* Not by a pointer kept since writer_begin: the buffer may have moved when it grew. */
    put_bits(buffer_head(w->out) + w->frame, FRAME_HEADER_BYTES, size - FRAME_HEADER_BYTES);
    return true;
}

void writer_i16(struct writer *w, int16_t value)
{
    write_bits(w, sizeof value, (uint64_t)value);
}

void writer_i32(struct writer *w, int32_t value)
{
    write_bits(w, sizeof value, (uint64_t)value);
}

void writer_i64(struct writer *w, int64_t value)
{
    write_bits(w, sizeof value, (uint64_t)value);
}

#include "writer.h"

#include "frame.h"

void writer_bytes(struct writer *w, const uint8_t *data, size_t size)
{
    if (!w->failed && !buffer_append(w->out, data, size))
        w->failed = true;
}

/* TODO 2: Write numbers with the lowest byte first, strings with their length as LEB128, and the
 * frame around them; writer.h has the contract. Graded by test_05_short_message_is_malformed.
 * The length of a frame is known in writer_end() only, so writer_begin() leaves 4 bytes for it.
 * The functions below use write_bits(). */
static void write_bits(struct writer *w, size_t size, uint64_t bits)
{
    static const uint8_t zeros[sizeof bits];
    (void)bits;
    writer_bytes(w, zeros, size);
}

void writer_begin(struct writer *w, struct buffer *out)
{
    *w = (struct writer){.out = out};
    write_bits(w, FRAME_HEADER_BYTES, 0);
}

void writer_string(struct writer *w, const uint8_t *data, uint32_t size)
{
    (void)w, (void)data, (void)size;
}

bool writer_end(struct writer *w)
{
    return !w->failed;
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

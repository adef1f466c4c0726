#include "reader.h"

/* 32 bits fill 4 groups of 7 bits, and 4 bits of a fifth. */
enum { LEB128_MAX_BYTES = 5, LEB128_LAST_MAX = 0x0f };

/* TODO 3: Take the next `size` bytes of the message unless fewer are left, and put such bytes
 * together as an unsigned number, the lowest byte first. Graded by
 * test_05_integers_of_all_widths.
 * All other functions of the reader get their bytes from reader_bytes(): only here could a
 * message be read beyond its end. */
bool reader_bytes(struct reader *r, size_t size, struct bytes *bytes)
{
    (void)r, (void)size;
    *bytes = (struct bytes){0};
    return false;
}

static bool read_bits(struct reader *r, size_t size, uint64_t *bits)
{
    struct bytes bytes;
    *bits = 0;
    return reader_bytes(r, size, &bytes);
}

/* The casts below keep the bits, and make the highest one the sign. The C standard leaves this to
 * the compiler; gcc and clang promise it. */

bool reader_i16(struct reader *r, int16_t *value)
{
    uint64_t bits;
    if (!read_bits(r, sizeof *value, &bits))
        return false;
    *value = (int16_t)bits;
    return true;
}

bool reader_i32(struct reader *r, int32_t *value)
{
    uint64_t bits;
    if (!read_bits(r, sizeof *value, &bits))
        return false;
    *value = (int32_t)bits;
    return true;
}

bool reader_i64(struct reader *r, int64_t *value)
{
    uint64_t bits;
    if (!read_bits(r, sizeof *value, &bits))
        return false;
    *value = (int64_t)bits;
    return true;
}

/* TODO 4: Read a string: its length as LEB128 of at most LEB128_MAX_BYTES, then its bytes.
 * Graded by test_05_strings_of_all_lengths.
 * A length that does not fit 32 bits makes the message malformed, and so does one that is larger
 * than the rest of the message. */
static bool read_leb128(struct reader *r, uint32_t *value)
{
    (void)r;
    *value = 0;
    return false;
}

bool reader_string(struct reader *r, struct bytes *string)
{
    uint32_t size;
    *string = (struct bytes){0};
    return read_leb128(r, &size);
}

bool reader_at_end(const struct reader *r)
{
    return r->left == 0;
}

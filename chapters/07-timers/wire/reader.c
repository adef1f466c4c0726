#include "wire/reader.h"

/* 32 bits fill 4 groups of 7 bits, and 4 bits of a fifth. */
enum { LEB128_MAX_BYTES = 5, LEB128_LAST_MAX = 0x0f };

bool reader_bytes(struct reader *r, size_t size, struct bytes *bytes)
{
    /* Compare two sizes: next + size may lie beyond the end of memory, and wrap around. */
    if (size > r->left)
        return false;
    *bytes = (struct bytes){.data = r->next, .size = size};
    r->next += size;
    r->left -= size;
    return true;
}

/* The next `size` bytes as an unsigned number, the lowest byte first. */
static bool read_bits(struct reader *r, size_t size, uint64_t *bits)
{
    struct bytes bytes;
    if (!reader_bytes(r, size, &bytes))
        return false;
    *bits = 0;
    /* Cast before you shift: a byte becomes an int of 32 bits, and shifting an int by 56 is
     * undefined. */
    for (size_t i = 0; i < size; i++)
        *bits |= (uint64_t)bytes.data[i] << 8 * i;
    return true;
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

/* A number in groups of 7 bits, the lowest first. The highest bit of a byte says whether another
 * byte follows (LEB128, as DWARF defines it). False also if the number needs more than 32 bits. */
static bool read_leb128(struct reader *r, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < LEB128_MAX_BYTES; i++) {
        struct bytes byte;
        if (!reader_bytes(r, 1, &byte))
            return false;
        if (i == LEB128_MAX_BYTES - 1 && *byte.data > LEB128_LAST_MAX)
            return false;
        *value |= (uint32_t)(*byte.data & 0x7f) << 7 * i;
        if (!(*byte.data & 0x80))
            return true;
    }
    return false;
}

bool reader_string(struct reader *r, struct bytes *string)
{
    uint32_t size;
    return read_leb128(r, &size) && reader_bytes(r, size, string);
}

bool reader_at_end(const struct reader *r)
{
    return r->left == 0;
}

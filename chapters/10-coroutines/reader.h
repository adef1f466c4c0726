/* Reads typed fields out of a message, one behind the other, and never beyond its end: what the
 * message says of itself is a claim of the client's, and may be a lie.
 *
 *     i16, i32, i64    2, 4, 8 bytes, the lowest first, two's complement
 *     string           its length as unsigned LEB128, then that many bytes
 *
 * Every function returns false when the message does not hold such a field; the message is
 * malformed then, and nothing more can be read out of it. */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *next; /* borrowed; the reader copies nothing */
    size_t left;
};

/* A piece of the message: valid as long as the message is. */
struct bytes {
    const uint8_t *data;
    size_t size;
};

bool reader_i16(struct reader *r, int16_t *value);
bool reader_i32(struct reader *r, int32_t *value);
bool reader_i64(struct reader *r, int64_t *value);

/* The next `size` bytes, as they are. */
bool reader_bytes(struct reader *r, size_t size, struct bytes *bytes);

bool reader_string(struct reader *r, struct bytes *string);

/* Nothing is left. What is behind the last field of a message makes it malformed, too. */
bool reader_at_end(const struct reader *r);

#endif

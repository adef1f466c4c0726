/* Reads typed fields from a message, one after the other, and never beyond its end. A length in a
 * message is only what the client claims: it may be wrong.
 *
 *     i16, i32, i64    2, 4, 8 bytes, the lowest first, two's complement
 *     string           its length as unsigned LEB128, then that many bytes
 *
 * Every function returns false if the message does not hold such a field. The message is malformed
 * then: read nothing more from it. */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *next; /* borrowed; the reader copies nothing */
    size_t left;
};

/* A part of the message, valid as long as the message is. */
struct bytes {
    const uint8_t *data;
    size_t size;
};

bool reader_i16(struct reader *r, int16_t *value);
bool reader_i32(struct reader *r, int32_t *value);
bool reader_i64(struct reader *r, int64_t *value);

/* The next `size` bytes, unchanged. False: fewer are left, and the reader has not changed. */
bool reader_bytes(struct reader *r, size_t size, struct bytes *bytes);

bool reader_string(struct reader *r, struct bytes *string);

/* True if nothing is left. Bytes after the last field make a message malformed, too. */
bool reader_at_end(const struct reader *r);

#endif

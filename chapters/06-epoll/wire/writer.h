/* Writes a message of typed fields as a frame in length framing. reader.h reads such messages.
 *
 * It writes at the tail of a buffer, which grows. If there is no memory, the writer remembers that:
 * check only the result of writer_end. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct writer {
    struct buffer *out; /* borrowed */
    size_t frame;       /* where the frame begins, counted from the head of the buffer */
    bool failed;        /* no memory */
};

/* Begins a frame after the bytes that the buffer holds. Do not use the buffer until writer_end. */
void writer_begin(struct writer *w, struct buffer *out);

void writer_i16(struct writer *w, int16_t value);
void writer_i32(struct writer *w, int32_t value);
void writer_i64(struct writer *w, int64_t value);

/* The bytes, unchanged. */
void writer_bytes(struct writer *w, const uint8_t *data, size_t size);

/* Their number as LEB128, then the bytes. */
void writer_string(struct writer *w, const uint8_t *data, uint32_t size);

/* Ends the frame: writes its length into the header. False: there was no memory, and the buffer
 * holds the same bytes as before writer_begin. */
bool writer_end(struct writer *w);

#endif

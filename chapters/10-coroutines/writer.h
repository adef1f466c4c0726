/* Writes a message of typed fields as a frame with its length in front: what reader.h reads.
 *
 * It writes at the tail of a buffer, which grows. If it cannot, the writer remembers: so only
 * writer_end has to be asked. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer.h"

struct writer {
    struct buffer *out; /* borrowed */
    size_t frame;       /* where in it the frame begins, counted from its head */
    bool failed;        /* no memory */
};

/* Begins a frame behind what the buffer holds. Until writer_end nobody else may use the buffer. */
void writer_begin(struct writer *w, struct buffer *out);

void writer_i16(struct writer *w, int16_t value);
void writer_i32(struct writer *w, int32_t value);
void writer_i64(struct writer *w, int64_t value);

/* The bytes as they are. */
void writer_bytes(struct writer *w, const uint8_t *data, size_t size);

/* Their number as LEB128, then the bytes. */
void writer_string(struct writer *w, const uint8_t *data, uint32_t size);

/* Ends the frame: its length is known now. False: there was no memory, and the buffer holds what it
 * held before writer_begin. */
bool writer_end(struct writer *w);

#endif

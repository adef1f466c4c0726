/* What every client sends, and so expects back: frames of one size with random content, over and
 * over. Frame k of client i is frame (i + k) % period, so a reply to somebody else is not taken for
 * one's own. */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEADER_BYTES = 4, MAX_FRAME_BYTES = 32 << 20 };

struct stream {
    uint8_t *bytes; /* one period */
    size_t size;    /* of a period: a number of whole frames */
    size_t frame;   /* bytes of a frame, header and body */
};

/* Frames with `body` bytes each. False: no memory. */
bool stream_make(struct stream *s, uint32_t body);
void stream_free(struct stream *s);

/* The bytes from offset `at` of the endless stream of client `client`: how many stand together in
 * memory is in *together. */
const uint8_t *stream_at(const struct stream *s, unsigned client, uint64_t at, size_t *together);

/* The first of `size` bytes at `data` that is not the one at offset `at`; `size` if all are. */
size_t stream_differs(const struct stream *s, unsigned client, uint64_t at, const uint8_t *data,
                      size_t size);

#endif

/* The wire: where frames begin and end. Three kinds of framing, behind one parser.
 *
 *     length     +----+----+----+----+----------------- - - -+
 *                | N0 | N1 | N2 | N3 | body: N bytes         |  N = N0 + N1*2^8 + N2*2^16 + N3*2^24
 *                +----+----+----+----+----------------- - - -+
 *     line       +------------------- - - -+--------------+
 *                | body: no LF in it       | LF, or CR LF |
 *                +------------------- - - -+--------------+
 *     fixed:N    +---------------- - - -+
 *                | body: N bytes        |
 *                +---------------- - - -+
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 4
#define FRAME_MAX_BYTES    (32u << 20) /* of the body, in length framing */
#define LINE_MAX_BYTES     (64u << 10) /* of the body, without the terminator */
#define FIXED_MAX_BYTES    (1u << 20)

enum framing_kind { FRAMING_LENGTH, FRAMING_LINE, FRAMING_FIXED };

struct framing {
    enum framing_kind kind;
    size_t fixed_bytes; /* of FRAMING_FIXED: N, from 1 to FIXED_MAX_BYTES */
};

/* A complete frame of `size` bytes. Its content is the `body_size` bytes at `body`. */
struct frame {
    const uint8_t *body;
    size_t body_size;
    size_t size;
};

/* What frame_parse has found. */
enum frame_result {
    FRAME_OK,      /* a complete frame */
    FRAME_PARTIAL, /* the beginning of a frame: call again with more bytes */
    FRAME_BAD      /* the beginning of a frame that is too long */
};

/* Looks for a frame at the beginning of `size` bytes. FRAME_OK: *frame is that frame; it points
 * into the bytes. *seen: how many of the bytes were searched in earlier calls, so that they need
 * not be searched again. It is 0 where a frame begins; the caller keeps it between two calls. */
enum frame_result frame_parse(const struct framing *framing, const uint8_t *bytes, size_t size,
                              size_t *seen, struct frame *frame);

/* Complete frames, one after the other. */
struct run {
    size_t bytes;
    size_t frames;
    bool bad; /* the next frame is too long */
};

/* The run at the beginning of `size` bytes. Stops once it has `enough` bytes or `most` frames.
 * *seen: as above. */
struct run frame_run(const struct framing *framing, const uint8_t *bytes, size_t size,
                     size_t enough, size_t most, size_t *seen);

/* The size of the frame that begins with these bytes, header included; 0 if they do not tell it. */
size_t frame_size(const struct framing *framing, const uint8_t *bytes, size_t size);

#endif

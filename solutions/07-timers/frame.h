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
#define FRAME_MAX_BYTES    (32u << 20) /* of the body, with a length in front */
#define LINE_MAX_BYTES     (64u << 10) /* of the body, up to the terminator */
#define FIXED_MAX_BYTES    (1u << 20)

enum framing_kind { FRAMING_LENGTH, FRAMING_LINE, FRAMING_FIXED };

struct framing {
    enum framing_kind kind;
    size_t fixed_bytes; /* of FRAMING_FIXED: N, from 1 to FIXED_MAX_BYTES */
};

/* A frame that is complete: `size` bytes, of which `body_size` at `body` are what is meant. */
struct frame {
    const uint8_t *body;
    size_t body_size;
    size_t size;
};

/* What the parser has found at the head of the bytes it was shown. */
enum frame_result {
    FRAME_OK,      /* a frame */
    FRAME_PARTIAL, /* the beginning of one: come again with more */
    FRAME_BAD      /* the beginning of one that is too long: it will never be taken */
};

/* Looks for a frame at the beginning of `size` bytes, and fills *frame with it. The frame points
 * into the bytes. *seen is 0 where a frame begins; the parser keeps in it how far it has looked in
 * vain, so that it need not look there again when it is called with more. */
enum frame_result frame_parse(const struct framing *framing, const uint8_t *bytes, size_t size,
                              size_t *seen, struct frame *frame);

/* How many of `size` bytes are complete frames, one behind the other, the first at the beginning.
 * Takes no further one when it has `enough` bytes. *bad: behind them comes one that is too long.
 * *seen: as above. */
size_t frame_run(const struct framing *framing, const uint8_t *bytes, size_t size, size_t enough,
                 size_t *seen, bool *bad);

#endif

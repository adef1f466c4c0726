/* The wire: a frame is a 4-byte little-endian unsigned length N, then a body of N bytes.
 *
 *     +----+----+----+----+----------------- - - -+
 *     | N0 | N1 | N2 | N3 | body: N bytes         |     N = N0 + N1*2^8 + N2*2^16 + N3*2^24
 *     +----+----+----+----+----------------- - - -+
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 4
#define FRAME_MAX_BYTES    (32u << 20) /* of the body */

/* Reads the length from a header. False: it is over FRAME_MAX_BYTES. Call it before allocating. */
bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length);

/* How many of `size` bytes are complete frames, one after the other from the first byte on. Stops
 * once it has `enough` bytes. *too_long: the next frame has a length over FRAME_MAX_BYTES. */
size_t frame_run(const uint8_t *bytes, size_t size, size_t enough, bool *too_long);

/* The size of the frame that begins with these bytes, header included; 0 if they do not tell it. */
size_t frame_size(const uint8_t *bytes, size_t size);

#endif

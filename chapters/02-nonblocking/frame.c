#include "frame.h"

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* Shifts say what the bytes mean on every machine; a cast to uint32_t * says what they happen
     * to mean on this one, at an address that need not be aligned. */
    *length = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
              (uint32_t)header[3] << 24;
    return *length <= FRAME_MAX_BYTES;
}

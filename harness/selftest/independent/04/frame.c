#include "frame.h"

#include <string.h>

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* Shifts give the same result on every machine. A cast to uint32_t * uses the byte order of
     * this machine, and needs an aligned address. */
    *length = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
              (uint32_t)header[3] << 24;
    return *length <= FRAME_MAX_BYTES;
}

size_t frame_run(const uint8_t *bytes, size_t size, size_t enough, bool *too_long)
{
    const uint8_t *p = bytes;
    size_t rest = size;
    *too_long = false;
    for (;;) {
        uint32_t body;
        if ((size_t)(p - bytes) >= enough)
            break;
        if (rest < FRAME_HEADER_BYTES)
            break;
        if (!frame_length(p, &body)) {
            *too_long = true;
            break;
        }
        size_t needs = (size_t)body + FRAME_HEADER_BYTES;
        if (needs > rest)
            break;
        p += needs;
        rest -= needs;
    }
    return size - rest;
}

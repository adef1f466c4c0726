#include "frame.h"

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    // BEGIN length
    /* Shifts give the same result on every machine. A cast to uint32_t * uses the byte order of
     * this machine, and needs an aligned address. */
    *length = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
              (uint32_t)header[3] << 24;
    return *length <= FRAME_MAX_BYTES;
    // END length
}

size_t frame_size(const uint8_t *bytes, size_t size)
{
    uint32_t length;
    if (size < FRAME_HEADER_BYTES || !frame_length(bytes, &length))
        return 0;
    return FRAME_HEADER_BYTES + (size_t)length;
}

// BEGIN run
size_t frame_run(const uint8_t *bytes, size_t size, size_t enough, bool *too_long)
{
    size_t end = 0;
    *too_long = false;
    while (end < enough && size - end >= FRAME_HEADER_BYTES) {
        uint32_t length;
        *too_long = !frame_length(bytes + end, &length);
        if (*too_long || size - end - FRAME_HEADER_BYTES < length)
            break;
        end += FRAME_HEADER_BYTES + (size_t)length;
    }
    return end;
}
// END run

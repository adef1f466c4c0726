#include "frame.h"

#include <string.h>

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

// BEGIN run
/* Moves *end over the frame that begins there. False: it is not complete, or too long. */
static bool pass_frame(const uint8_t *bytes, size_t size, size_t *end, bool *too_long)
{
    uint32_t length;
    if (size - *end < FRAME_HEADER_BYTES)
        return false;
    *too_long = !frame_length(bytes + *end, &length);
    if (*too_long || size - *end - FRAME_HEADER_BYTES < length)
        return false;
    *end += FRAME_HEADER_BYTES + (size_t)length;
    return true;
}

size_t frame_run(const uint8_t *bytes, size_t size, size_t enough, bool *too_long)
{
    size_t start = 0;
    size_t end = 0;
    *too_long = false;
    while (end < enough && pass_frame(bytes, size, &end, too_long)) {
        /* Often several frames of one length follow each other. While the headers are equal, the
         * processor goes on to the next frame; to work out a length it has to wait. */
        size_t whole = end - start;
        while (end < enough && size - end >= whole &&
               memcmp(bytes + end, bytes + start, FRAME_HEADER_BYTES) == 0)
            end += whole;
        start = end;
    }
    return end;
}
// END run

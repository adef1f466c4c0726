#include "frame.h"

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* Shifts give the same result on every machine. A cast to uint32_t * uses the byte order of
     * this machine, and needs an aligned address. */
    *length = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
              (uint32_t)header[3] << 24;
    return *length <= FRAME_MAX_BYTES;
}

size_t frame_size(const uint8_t *bytes, size_t size)
{
    uint32_t length;
    if (size < FRAME_HEADER_BYTES || !frame_length(bytes, &length))
        return 0;
    return FRAME_HEADER_BYTES + (size_t)length;
}

/* TODO 3: Find all complete frames at the beginning of the bytes, but stop once `enough` bytes
 * are found. Graded by test_04_replies_are_batched.
 * frame.h has the contract. frame_length() reads one header. */
size_t frame_run(const uint8_t *bytes, size_t size, size_t enough, bool *too_long)
{
    uint32_t length = 0;
    (void)enough;
    *too_long = size >= FRAME_HEADER_BYTES && !frame_length(bytes, &length);
    if (size < FRAME_HEADER_BYTES || *too_long || size - FRAME_HEADER_BYTES < length)
        return 0;
    return FRAME_HEADER_BYTES + (size_t)length;
}

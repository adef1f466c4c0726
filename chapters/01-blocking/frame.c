#include "frame.h"

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* TODO 2: Set `*length` to the number in the four bytes, lowest byte first; return false if
     * it is over FRAME_MAX_BYTES. Graded by test_01_length_uses_all_four_bytes. */
    *length = header[0];
    return true;
}

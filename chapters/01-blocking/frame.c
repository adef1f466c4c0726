#include "frame.h"

bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* TODO 2: Put the length together from the four bytes; false if it is over FRAME_MAX_BYTES.
     * Graded by test_01_length_uses_all_four_bytes.
     * The lowest byte comes first. Widen a byte to uint32_t before you shift it. */
    *length = header[0];
    return true;
}

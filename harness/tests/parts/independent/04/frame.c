#include <string.h>

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

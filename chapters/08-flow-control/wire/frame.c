#include "wire/frame.h"

#include <string.h>

static bool frame_length(const uint8_t header[FRAME_HEADER_BYTES], uint32_t *length)
{
    /* Shifts give the same result on every machine. A cast to uint32_t * uses the byte order of
     * this machine, and needs an aligned address. */
    *length = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16 |
              (uint32_t)header[3] << 24;
    return *length <= FRAME_MAX_BYTES;
}

static enum frame_result parse_length(const uint8_t *bytes, size_t size, struct frame *frame)
{
    uint32_t length;
    if (size < FRAME_HEADER_BYTES)
        return FRAME_PARTIAL;
    if (!frame_length(bytes, &length))
        return FRAME_BAD;
    if (size - FRAME_HEADER_BYTES < length)
        return FRAME_PARTIAL;
    *frame = (struct frame){
        .body = bytes + FRAME_HEADER_BYTES,
        .body_size = length,
        .size = FRAME_HEADER_BYTES + (size_t)length,
    };
    return FRAME_OK;
}

/* The size of a body that ends before `end`. A CR there belongs to the terminator. */
static size_t line_body(const uint8_t *bytes, size_t end)
{
    return end > 0 && bytes[end - 1] == '\r' ? end - 1 : end;
}

static enum frame_result parse_line(const uint8_t *bytes, size_t size, size_t *seen,
                                    struct frame *frame)
{
    const uint8_t *lf = memchr(bytes + *seen, '\n', size - *seen);
    size_t end = lf != NULL ? (size_t)(lf - bytes) : size;
    size_t body_size = line_body(bytes, end);
    if (body_size > LINE_MAX_BYTES)
        return FRAME_BAD;
    if (lf == NULL) {
        /* Without this, a line that comes byte by byte is searched from its beginning each time:
         * quadratic. */
        *seen = size;
        return FRAME_PARTIAL;
    }
    *frame = (struct frame){.body = bytes, .body_size = body_size, .size = end + 1};
    *seen = 0;
    return FRAME_OK;
}

static enum frame_result parse_fixed(size_t fixed_bytes, const uint8_t *bytes, size_t size,
                                     struct frame *frame)
{
    if (size < fixed_bytes)
        return FRAME_PARTIAL;
    *frame = (struct frame){.body = bytes, .body_size = fixed_bytes, .size = fixed_bytes};
    return FRAME_OK;
}

enum frame_result frame_parse(const struct framing *framing, const uint8_t *bytes, size_t size,
                              size_t *seen, struct frame *frame)
{
    switch (framing->kind) {
    case FRAMING_LINE:
        return parse_line(bytes, size, seen, frame);
    case FRAMING_FIXED:
        return parse_fixed(framing->fixed_bytes, bytes, size, frame);
    case FRAMING_LENGTH:
        break;
    }
    return parse_length(bytes, size, frame);
}

size_t frame_size(const struct framing *framing, const uint8_t *bytes, size_t size)
{
    uint32_t length;
    if (framing->kind == FRAMING_FIXED)
        return framing->fixed_bytes;
    if (framing->kind == FRAMING_LINE || size < FRAME_HEADER_BYTES || !frame_length(bytes, &length))
        return 0;
    return FRAME_HEADER_BYTES + (size_t)length;
}

struct run frame_run(const struct framing *framing, const uint8_t *bytes, size_t size,
                     size_t enough, size_t most, size_t *seen)
{
    struct run run = {0};
    enum frame_result result = FRAME_OK;
    while (run.bytes < enough && run.frames < most) {
        struct frame frame;
        result = frame_parse(framing, bytes + run.bytes, size - run.bytes, seen, &frame);
        if (result != FRAME_OK)
            break;
        run.bytes += frame.size;
        run.frames++;
    }
    run.bad = result == FRAME_BAD;
    return run;
}

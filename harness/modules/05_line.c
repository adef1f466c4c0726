/* The parser of lines: what it looks at again when more of a line has come.
 * links: frame.c */
#include <string.h>

#include "check.h"
#include "frame.h"

#define HINT "line-seen-twice"

enum { LINE_BYTES = 4096 };

/* A call of the parser with the first `size` bytes of a line. */
static enum frame_result parse(const uint8_t *line, size_t size, size_t *seen, struct frame *frame)
{
    static const struct framing framing = {.kind = FRAMING_LINE};
    check_step("calls frame_parse() with the first %zu bytes of the line", size);
    return frame_parse(&framing, check_at_the_end(line, size), size, seen, frame);
}

/* A line comes in two pieces and its LF. After the first piece was searched in vain, an LF is put
 * into it. Only a second search of the same bytes finds it: nothing has to be timed. */
static void searched_once(void)
{
    static const size_t pieces[] = {2, 100, 2000};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t half = pieces[i], size = 2 * half + 1, seen = 0;
        uint8_t line[LINE_BYTES];
        struct frame frame = {0};
        check_case();
        memset(line, 'a', size);
        line[size - 1] = '\n';

        enum frame_result result = parse(line, half, &seen, &frame);
        CHECK(result == FRAME_PARTIAL, HINT, "it did not return FRAME_PARTIAL");
        check_step("makes byte 0, which was searched already, an LF");
        line[0] = '\n';
        result = parse(line, 2 * half, &seen, &frame);
        CHECK(result == FRAME_PARTIAL, HINT,
              "it found the LF at byte 0, so it searched that byte again");
        result = parse(line, size, &seen, &frame);
        CHECK(result == FRAME_OK && frame.size == size, HINT,
              "it did not return the line of %zu bytes up to the LF at its end", size);
        CHECK(seen == 0, HINT, "*seen is %zu after a complete line, instead of 0", seen);
    }
}

const struct check checks[] = {
    {"searched_once", searched_once},
    {0},
};

/* The writer: every byte of a frame, in a buffer that is at another place after each call, and in
 * one that cannot grow. The buffer is one of this program's own.
 * links: writer.c */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "check.h"
#include "fields.h"
#include "writer.h"

#define NUMBER        "number-bytes"
#define LEB128        "leb128-groups"
#define LENGTH        "length-in-front"
#define NO_FREE_SPACE "no-free-space"

enum { HEADER_BYTES = 4, HELD_BYTES = 5, LEFT_BYTE = 0xdd, MESSAGES = 50, SMALL_BYTES = 64 };

/* The buffer */

static long allowed = -1;  /* how often it may grow until it fails once; below 0: without end */
static struct block *left; /* the block that was left last: wrong code may still use it */

static void leave(struct buffer *b)
{
    if (b->block != NULL)
        memset(b->block->data, LEFT_BYTE, b->block->cap);
    free(left);
    left = b->block;
}

size_t buffer_len(const struct buffer *b)
{
    return b->block == NULL ? 0 : b->block->end - b->block->start;
}

bool buffer_reserve(struct buffer *b, size_t room)
{
    if (allowed-- == 0)
        return false;
    size_t size = buffer_len(b);
    struct block *block = check_memory(sizeof *block + size + room);
    *block = (struct block){.end = size, .cap = size + room};
    if (size > 0)
        memcpy(block->data, buffer_head(b), size);
    leave(b);
    b->block = block;
    return true;
}

uint8_t *buffer_head(const struct buffer *b)
{
    return b->block == NULL ? NULL : b->block->data + b->block->start;
}

uint8_t *buffer_tail(const struct buffer *b)
{
    return b->block == NULL ? NULL : b->block->data + b->block->end;
}

void buffer_fill(struct buffer *b, size_t size)
{
    if (size > 0)
        b->block->end += size;
}

bool buffer_append(struct buffer *b, const uint8_t *bytes, size_t size)
{
    if (!buffer_reserve(b, size))
        return false;
    if (size > 0)
        memcpy(buffer_tail(b), bytes, size);
    buffer_fill(b, size);
    return true;
}

void buffer_consume(struct buffer *b, size_t size)
{
    if (size > 0)
        b->block->start += size;
}

void buffer_cut(struct buffer *b, size_t size)
{
    if (size > 0)
        b->block->end -= size;
}

void buffer_free(struct buffer *b)
{
    leave(b);
    free(left);
    left = NULL;
    b->block = NULL;
}

/* A frame of one field */

/* Writes an integer of 2, 4 or 8 bytes with the function for it. */
static void write_integer(struct writer *w, size_t size, uint64_t number)
{
    if (size == 2)
        writer_i16(w, (int16_t)number);
    else if (size == 4)
        writer_i32(w, (int32_t)number);
    else
        writer_i64(w, (int64_t)number);
}

static struct writer begin(struct buffer *out)
{
    struct writer w;
    check_step("calls writer_begin(), the buffer holds %zu bytes", buffer_len(out));
    writer_begin(&w, out);
    return w;
}

/* The frame is all that `out` holds. */
static void expect_frame(struct writer *w, struct buffer *out, const char *hint,
                         const uint8_t *body, size_t size)
{
    uint8_t header[HEADER_BYTES];
    check_step("calls writer_end()");
    CHECK(writer_end(w), NO_FREE_SPACE, "writer_end() returned false, but there was memory");
    CHECK(buffer_len(out) >= HEADER_BYTES, LENGTH, "there is no space for the length");
    check_equal(hint, "the body", body, size, buffer_head(out) + HEADER_BYTES,
                buffer_len(out) - HEADER_BYTES);
    fields_put_number(header, HEADER_BYTES, size);
    check_equal(LENGTH, "the length", header, HEADER_BYTES, buffer_head(out), HEADER_BYTES);
    buffer_free(out);
}

static void one_integer(size_t size, uint64_t number)
{
    struct buffer out = {0};
    uint8_t body[8];
    check_case();
    fields_put_number(body, size, number);
    struct writer w = begin(&out);
    check_step("calls writer_i%zu() with %lld", 8 * size,
               (long long)fields_take_number(body, size));
    write_integer(&w, size, number);
    expect_frame(&w, &out, NUMBER, body, size);
}

static void one_string(size_t size)
{
    struct buffer out = {0};
    uint8_t *body = check_memory(LEB128_BYTES + size);
    uint8_t *text = fields_put_leb128(body, (uint32_t)size);
    check_fill(text, size);
    check_case();
    struct writer w = begin(&out);
    check_step("calls writer_string() with %s", check_hex(text, size));
    writer_string(&w, text, (uint32_t)size);
    expect_frame(&w, &out, LEB128, body, (size_t)(text - body) + size);
    free(body);
}

static void fields(void)
{
    uint64_t numbers[NUMBERS_MAX];
    size_t count = fields_interesting_numbers(numbers);
    for (size_t size = 2; size <= 8; size *= 2)
        for (size_t i = 0; i < count; i++)
            one_integer(size, numbers[i]);
    for (size_t size = 0; size < 300; size++)
        one_string(size);
    for (size_t border = 1 << 14; border <= 1 << 21; border <<= 7)
        for (size_t size = border - 1; size <= border + 1; size++)
            one_string(size);
}

/* Frames behind others */

/* Writes a message of every kind of field. Returns how many bytes of `frame` are due of it. */
static size_t write_message(struct writer *w, uint8_t *frame)
{
    uint8_t text[SMALL_BYTES], *end = frame + HEADER_BYTES;
    size_t size = check_below(sizeof text);
    check_fill(text, size);
    for (size_t width = 2; width <= 8; width *= 2) {
        uint64_t number = check_random();
        check_step("calls writer_i%zu()", 8 * width);
        write_integer(w, width, number);
        end = fields_put_number(end, width, number);
    }
    check_step("calls writer_string() with %zu bytes", size);
    writer_string(w, text, (uint32_t)size);
    end = fields_put_leb128(end, (uint32_t)size);
    memcpy(end, text, size);
    check_step("calls writer_bytes() with %zu bytes", size);
    writer_bytes(w, text, size);
    memcpy(end + size, text, size);
    end += 2 * size;
    fields_put_number(frame, HEADER_BYTES, (uint64_t)(end - frame - HEADER_BYTES));
    return (size_t)(end - frame);
}

/* A buffer out of whose head a byte has gone, so that head and block begin at different places. */
static struct buffer some_held(uint8_t held[HELD_BYTES])
{
    struct buffer out = {0};
    check_fill(held, HELD_BYTES);
    buffer_append(&out, (const uint8_t *)"x", 1);
    buffer_append(&out, held, HELD_BYTES);
    buffer_consume(&out, 1);
    return out;
}

static void compare(const char *hint, const struct buffer *out, const uint8_t *due, size_t size)
{
    check_equal(hint, "the buffer's contents", due, size, buffer_head(out), buffer_len(out));
}

static void frames(void)
{
    for (int i = 0; i < MESSAGES; i++) {
        uint8_t due[HELD_BYTES + 3 * 4 * SMALL_BYTES];
        size_t size = HELD_BYTES;
        check_case();
        struct buffer out = some_held(due);
        for (int message = 0; message < 3; message++) {
            struct writer w = begin(&out);
            size += write_message(&w, due + size);
            check_step("calls writer_end()");
            CHECK(writer_end(&w), NO_FREE_SPACE,
                  "writer_end() returned false, but there was memory");
            compare(LENGTH, &out, due, size);
        }
        buffer_free(&out);
    }
}

/* No memory, once: at the first call that needs some, the second, ... until none lacks it. */
static void no_room(void)
{
    bool ended = false;
    for (long calls = 0; !ended; calls++) {
        uint8_t held[HELD_BYTES], frame[4 * SMALL_BYTES];
        check_case();
        struct buffer out = some_held(held);
        check_step("lets the buffer grow %ld times, and no more", calls);
        allowed = calls;
        struct writer w = begin(&out);
        write_message(&w, frame);
        check_step("calls writer_end()");
        ended = writer_end(&w);
        bool failed = allowed < 0;
        CHECK(!ended || !failed, NO_FREE_SPACE,
              "writer_end() returned true, but a field is missing");
        CHECK(ended || failed, NO_FREE_SPACE, "writer_end() returned false, but there was memory");
        if (!ended)
            compare(NO_FREE_SPACE, &out, held, HELD_BYTES);
        buffer_free(&out);
    }
    allowed = -1;
}

const struct check checks[] = {
    {"fields", fields},
    {"frames", frames},
    {"no_room", no_room},
    {0},
};

/* The reader, field by field: values, ends, and lengths that cannot be.
 * links: reader.c */
#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "fields.h"
#include "reader.h"

#define NUMBER "number-bytes"
#define BEYOND "beyond-the-message"
#define LEB128 "leb128-groups"

enum { BEFORE_MAX = 7, WITHIN_MAX = 12 };

/* Reads an integer of 2, 4 or 8 bytes with the function for it. */
static bool read_integer(struct reader *r, size_t size, int64_t *value)
{
    int16_t narrow = 0;
    int32_t middle = 0;
    bool ok;
    switch (size) {
    case 2:
        ok = reader_i16(r, &narrow);
        *value = narrow;
        return ok;
    case 4:
        ok = reader_i32(r, &middle);
        *value = middle;
        return ok;
    default:
        *value = 0;
        return reader_i64(r, value);
    }
}

static struct reader begin(const void *message, size_t size)
{
    check_case();
    check_step("has a message of %s", check_hex(message, size));
    return (struct reader){.next = check_at_the_end(message, size), .left = size};
}

static void expect_integer(struct reader *r, size_t size, const uint8_t *bytes)
{
    int64_t value, expected = fields_take_number(bytes, size);
    check_step("calls reader_i%zu() on %s", 8 * size, check_hex(bytes, size));
    CHECK(read_integer(r, size, &value), NUMBER,
          "reader_i%zu() returned false, but its bytes are there", 8 * size);
    CHECK(value == expected, NUMBER, "reader_i%zu() gave %" PRId64 " instead of %" PRId64, 8 * size,
          value, expected);
}

static void expect_end(struct reader *r)
{
    check_step("calls reader_at_end() after all fields");
    CHECK(reader_at_end(r), BEYOND, "reader_at_end() returned false, but everything was read");
}

static void integers_alone(size_t size)
{
    uint64_t numbers[NUMBERS_MAX];
    size_t count = fields_interesting_numbers(numbers);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        fields_put_number(bytes, size, numbers[i]);
        struct reader r = begin(bytes, size);
        expect_integer(&r, size, bytes);
        expect_end(&r);
    }
}

/* At every address, whatever it can be divided by. */
static void integers_unaligned(size_t size)
{
    uint8_t message[BEFORE_MAX + 8];
    for (size_t before = 1; before <= BEFORE_MAX; before++) {
        struct bytes skipped;
        check_fill(message, sizeof message);
        struct reader r = begin(message, before + size);
        check_step("calls reader_bytes() for %zu bytes", before);
        CHECK(reader_bytes(&r, before, &skipped), BEYOND,
              "reader_bytes() returned false, but the bytes are there");
        expect_integer(&r, size, message + before);
        expect_end(&r);
    }
}

static void integers_in_a_row(void)
{
    uint8_t message[3 * 14];
    check_fill(message, sizeof message);
    struct reader r = begin(message, sizeof message);
    const uint8_t *next = message;
    for (int round = 0; round < 3; round++) {
        for (size_t size = 8; size >= 2; size /= 2) {
            expect_integer(&r, size, next);
            next += size;
        }
    }
    expect_end(&r);
}

static void integers_too_short(size_t whole)
{
    for (size_t size = 0; size < whole; size++) {
        static const uint8_t message[8] = {0xff, 1, 2, 3, 4, 5, 6, 7};
        int64_t value;
        struct reader r = begin(message, size);
        check_step("calls reader_i%zu()", 8 * whole);
        CHECK(!read_integer(&r, whole, &value), BEYOND,
              "reader_i%zu() returned true, but it needs %zu bytes", 8 * whole, whole);
    }
}

static void integers(void)
{
    for (size_t size = 2; size <= 8; size *= 2) {
        integers_alone(size);
        integers_unaligned(size);
        integers_too_short(size);
    }
    integers_in_a_row();
}

/* Within the message */

static void ask_for(const uint8_t *message, size_t size, size_t wanted)
{
    struct bytes bytes = {0};
    struct reader r = begin(message, size);
    check_step("calls reader_bytes() for %zu bytes", wanted);
    bool ok = reader_bytes(&r, wanted, &bytes);
    if (wanted > size) {
        CHECK(!ok, BEYOND, "reader_bytes() returned true, but there are fewer");
        return;
    }
    CHECK(ok, BEYOND, "reader_bytes() returned false, but the bytes are there");
    check_equal(BEYOND, "the bytes returned", message, wanted, bytes.data, bytes.size);
    CHECK(reader_at_end(&r) == (wanted == size), BEYOND, "reader_at_end() returned %s after that",
          reader_at_end(&r) ? "true" : "false");
}

static void ask_for_all_sizes(const uint8_t *message, size_t size)
{
    for (size_t more = 0; more <= size; more++)
        ask_for(message, size, size - more);
    for (size_t more = 1; more <= 3; more++)
        ask_for(message, size, size + more);
    for (int bit = 16; bit < 64; bit++)
        ask_for(message, size, (size_t)1 << bit);
    for (size_t missing = 0; missing <= 2 * WITHIN_MAX;
         missing++) /* added to a pointer, it wraps */
        ask_for(message, size, SIZE_MAX - missing);
}

static void within(void)
{
    static const uint8_t MESSAGE[WITHIN_MAX] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t less = 0; less <= WITHIN_MAX; less++)
        ask_for_all_sizes(MESSAGE, WITHIN_MAX - less);
    for (size_t size = 2; size <= 8; size *= 2)
        integers_too_short(size);
}

/* Lengths */

static void expect_string(struct reader *r, const uint8_t *text, size_t size)
{
    struct bytes string = {0};
    check_step("calls reader_string(), which finds a string of %zu bytes", size);
    CHECK(reader_string(r, &string), LEB128, "reader_string() returned false, but it is complete");
    CHECK(string.size == size, LEB128, "reader_string() gave %zu bytes instead of %zu", string.size,
          size);
    check_equal(LEB128, "the string", text, size, string.data, string.size);
}

static void expect_refused(const char *what, const uint8_t *message, size_t size)
{
    struct bytes string;
    struct reader r = begin(message, size);
    check_step("calls reader_string(), which finds %s", what);
    CHECK(!reader_string(&r, &string), LEB128, "reader_string() returned true, with %zu bytes",
          string.size);
}

/* A string of this size, whole, and cut where mistakes are made. */
static void string_of(size_t size)
{
    uint8_t *message = check_memory(LEB128_BYTES + size);
    uint8_t *text = fields_put_leb128(message, (uint32_t)size), *end = text + size;
    check_fill(text, size);
    struct reader r = begin(message, (size_t)(end - message));
    expect_string(&r, text, size);
    expect_end(&r);
    for (uint8_t *cut = message; cut < text; cut++)
        expect_refused("a length that is cut off", message, (size_t)(cut - message));
    if (size > 0)
        expect_refused("a string that lacks its last byte", message, (size_t)(end - 1 - message));
    free(message);
}

/* Groups of zeros in front are no mistake, as long as there are no more than five groups. */
static void padded_lengths(void)
{
    static const uint8_t MESSAGE[] = {0x83, 0x80, 0x80, 0x80, 0x00, 'a',
                                      'b',  'c',  0x82, 0x00, 'd',  'e'};
    struct reader r = begin(MESSAGE, sizeof MESSAGE);
    expect_string(&r, MESSAGE + 5, 3);
    expect_string(&r, MESSAGE + 10, 2);
    expect_end(&r);
}

#define REFUSED(what, ...)                                                                         \
    expect_refused(what, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void refused_lengths(void)
{
    REFUSED("a length of 2^32", 0x80, 0x80, 0x80, 0x80, 0x10);
    REFUSED("a length of 2^32 + 3", 0x83, 0x80, 0x80, 0x80, 0x10, 'a', 'b', 'c');
    REFUSED("a length of 2^34 + 3", 0x83, 0x80, 0x80, 0x80, 0x40, 'a', 'b', 'c');
    REFUSED("a length of 2^35 - 1", 0xff, 0xff, 0xff, 0xff, 0x7f, 'a', 'b', 'c');
    REFUSED("a length in 6 bytes", 0x83, 0x80, 0x80, 0x80, 0x80, 0x00, 'a', 'b', 'c');
    REFUSED("a length in 6 bytes", 0x83, 0x80, 0x80, 0x80, 0x80, 0x01, 'a', 'b', 'c');
    REFUSED("a length in 12 bytes", 0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
            0x80, 0x00, 'a', 'b', 'c');
    REFUSED("a length without end", 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    REFUSED("a length of 2^32 - 1", 0xff, 0xff, 0xff, 0xff, 0x0f, 'a', 'b', 'c');
    REFUSED("a length of 2^31", 0x80, 0x80, 0x80, 0x80, 0x08, 'a', 'b', 'c');
}

static void lengths(void)
{
    for (size_t size = 0; size < 300; size++)
        string_of(size);
    for (size_t border = 1 << 14; border <= 1 << 21; border <<= 7)
        for (size_t size = border - 1; size <= border + 1; size++)
            string_of(size);
    padded_lengths();
    refused_lengths();
}

const struct check checks[] = {
    {"integers", integers},
    {"within", within},
    {"lengths", lengths},
    {0},
};

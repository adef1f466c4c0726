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

enum { BEFORE_MAX = 7, WIDTHS = 3, WITHIN_MAX = 12 };

/* Integers: one function for each width, behind one face */

static bool read_i16(struct reader *r, int64_t *value)
{
    int16_t number = 0;
    bool ok = reader_i16(r, &number);
    *value = number;
    return ok;
}

static bool read_i32(struct reader *r, int64_t *value)
{
    int32_t number = 0;
    bool ok = reader_i32(r, &number);
    *value = number;
    return ok;
}

static bool read_i64(struct reader *r, int64_t *value)
{
    *value = 0;
    return reader_i64(r, value);
}

static const struct integer {
    const char *name;
    size_t size;
    bool (*read)(struct reader *, int64_t *);
} INTEGERS[WIDTHS] = {
    {"reader_i16", 2, read_i16},
    {"reader_i32", 4, read_i32},
    {"reader_i64", 8, read_i64},
};

static struct reader begin(const void *message, size_t size)
{
    check_case();
    check_step("has a message of %s", check_hex(message, size));
    return (struct reader){.next = check_at_the_end(message, size), .left = size};
}

static void expect_integer(struct reader *r, const struct integer *integer, const uint8_t *bytes)
{
    int64_t value, expected = fields_take_number(bytes, integer->size);
    check_step("calls %s() on %s", integer->name, check_hex(bytes, integer->size));
    CHECK(integer->read(r, &value), NUMBER, "%s() returned false, but its bytes are there",
          integer->name);
    CHECK(value == expected, NUMBER, "%s() gave %" PRId64 " instead of %" PRId64, integer->name,
          value, expected);
}

static void expect_end(struct reader *r)
{
    check_step("calls reader_at_end() after all fields");
    CHECK(reader_at_end(r), BEYOND, "reader_at_end() returned false, but everything was read");
}

static void integers_alone(const struct integer *integer)
{
    uint64_t numbers[NUMBERS_MAX];
    size_t count = fields_interesting_numbers(numbers);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        fields_put_number(bytes, integer->size, numbers[i]);
        struct reader r = begin(bytes, integer->size);
        expect_integer(&r, integer, bytes);
        expect_end(&r);
    }
}

/* At every address, whatever it can be divided by. */
static void integers_unaligned(const struct integer *integer)
{
    uint8_t message[BEFORE_MAX + 8];
    for (size_t before = 1; before <= BEFORE_MAX; before++) {
        struct bytes skipped;
        fields_fill_by_chance(message, sizeof message);
        struct reader r = begin(message, before + integer->size);
        check_step("calls reader_bytes() for %zu bytes", before);
        CHECK(reader_bytes(&r, before, &skipped), BEYOND,
              "reader_bytes() returned false, but the bytes are there");
        expect_integer(&r, integer, message + before);
        expect_end(&r);
    }
}

static void integers_in_a_row(void)
{
    uint8_t message[3 * 14];
    fields_fill_by_chance(message, sizeof message);
    struct reader r = begin(message, sizeof message);
    const uint8_t *next = message;
    for (int round = 0; round < 3; round++) {
        for (int width = WIDTHS - 1; width >= 0; width--) {
            expect_integer(&r, &INTEGERS[width], next);
            next += INTEGERS[width].size;
        }
    }
    expect_end(&r);
}

static void integers_too_short(const struct integer *integer)
{
    for (size_t size = 0; size < integer->size; size++) {
        static const uint8_t message[8] = {0xff, 1, 2, 3, 4, 5, 6, 7};
        int64_t value;
        struct reader r = begin(message, size);
        check_step("calls %s()", integer->name);
        CHECK(!integer->read(&r, &value), BEYOND, "%s() returned true, but it needs %zu bytes",
              integer->name, integer->size);
    }
}

static void integers(void)
{
    for (int width = 0; width < WIDTHS; width++) {
        integers_alone(&INTEGERS[width]);
        integers_unaligned(&INTEGERS[width]);
        integers_too_short(&INTEGERS[width]);
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
    check_equal(BEYOND, "the bytes returned", (struct check_bytes){message, wanted},
                (struct check_bytes){bytes.data, bytes.size});
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
    for (int width = 0; width < WIDTHS; width++)
        integers_too_short(&INTEGERS[width]);
}

/* Lengths */

static void expect_string(struct reader *r, const uint8_t *text, size_t size)
{
    struct bytes string = {0};
    check_step("calls reader_string(), which finds a string of %zu bytes", size);
    CHECK(reader_string(r, &string), LEB128, "reader_string() returned false, but it is complete");
    CHECK(string.size == size, LEB128, "reader_string() gave %zu bytes instead of %zu", string.size,
          size);
    check_equal(LEB128, "the string", (struct check_bytes){text, size},
                (struct check_bytes){string.data, string.size});
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
    uint8_t *message = malloc(LEB128_BYTES + size + 1);
    if (message == NULL)
        check_impossible("no memory for a string of %zu bytes", size);
    uint8_t *text = fields_put_leb128(message, (uint32_t)size), *end = text + size;
    fields_fill_by_chance(text, size);
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

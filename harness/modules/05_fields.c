/* Reader and writer beside the protocol, which is here a second time: what a message has to hold,
 * and what can be read from it. Under libFuzzer (make fuzz) it chooses the messages, else
 * chance does.
 * links: reader.c writer.c buffer.c
 *
 * An input of the fuzzer names the fields to read, and then has the message:
 *
 *     +-------+---------------------+------------- - - -+
 *     | count | a kind of each      | the message       |
 *     +-------+---------------------+------------- - - -+
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "no_memory.h"
#include "reader.h"
#include "writer.h"

#define BEYOND        "beyond-the-message"
#define LENGTH        "length-in-front"
#define NO_FREE_SPACE "no-free-space"

/* A kind in an input of the fuzzer is modulo KINDS; of BYTES the rest is their number. */
enum kind { I16, I32, I64, STRING, BYTES, KINDS };

static const struct {
    const char *name, *hint;
} KIND[KINDS] = {{"i16", "number-bytes"},
                 {"i32", "number-bytes"},
                 {"i64", "number-bytes"},
                 {"string", "leb128-groups"},
                 {"bytes", BEYOND}};

enum {
    NUMBERS = 1 << I16 | 1 << I32 | 1 << I64,
    HEADER_BYTES = 4,
    HELD_BYTES = 5,
    MESSAGES = 4000,
    FRAMES = 50,
    SHORT = 40,        /* bytes of a text or string */
    LONG = 300,        /* so that a length takes two bytes */
    LONGEST = 1 << 21, /* four */
    FIELDS_MAX = 8,
    INPUT_MAX = 4096
};

struct field {
    enum kind kind;
    int64_t number;
    struct bytes bytes;
};

static uint8_t text[LONGEST + 1];                /* what strings are made of */
static uint8_t due[FIELDS_MAX * (LONGEST + 10)]; /* a message, or the contents of a buffer */

/* The protocol */

static uint8_t *put_number(uint8_t *to, size_t size, uint64_t number)
{
    for (; size > 0; size--, number /= 256)
        *to++ = (uint8_t)(number % 256);
    return to;
}

static int64_t take_number(const uint8_t *from, size_t size)
{
    uint64_t number = from[size - 1] >= 128 ? UINT64_MAX : 0;
    while (size > 0)
        number = number * 256 + from[--size];
    return (int64_t)number;
}

static uint8_t *put_leb128(uint8_t *to, size_t number)
{
    for (; number >= 128; number /= 128)
        *to++ = (uint8_t)(128 + number % 128);
    *to++ = (uint8_t)number;
    return to;
}

static uint8_t *put(uint8_t *to, const struct field *field)
{
    if (field->kind < STRING)
        return put_number(to, (size_t)2 << field->kind, (uint64_t)field->number);
    if (field->kind == STRING)
        to = put_leb128(to, field->bytes.size);
    memcpy(to, field->bytes.data, field->bytes.size);
    return to + field->bytes.size;
}

static bool take_bytes(struct reader *left, uint64_t size, struct bytes *bytes)
{
    if (left->left < size)
        return false;
    *bytes = (struct bytes){.data = left->next, .size = (size_t)size};
    left->next += size;
    left->left -= (size_t)size;
    return true;
}

static bool take_leb128(struct reader *left, uint64_t *number)
{
    struct bytes byte;
    int groups = 0;
    *number = 0;
    do {
        if (groups == 5 || !take_bytes(left, 1, &byte))
            return false;
        *number += (uint64_t)(*byte.data % 128) << 7 * groups++;
    } while (*byte.data >= 128);
    return *number <= UINT32_MAX;
}

/* False: what is left does not hold the field. Of BYTES the size says how many are asked for. */
static bool take(struct reader *left, struct field *field)
{
    uint64_t size = field->kind < STRING ? (uint64_t)2 << field->kind : field->bytes.size;
    if (field->kind == STRING && !take_leb128(left, &size))
        return false;
    if (!take_bytes(left, size, &field->bytes))
        return false;
    if (field->kind < STRING)
        field->number = take_number(field->bytes.data, (size_t)size);
    return true;
}

/* Fields by chance */

static struct field field_of(enum kind kind, uint64_t bits, size_t size)
{
    uint8_t bytes[8];
    struct field field = {.kind = kind, .bytes = {.data = text, .size = size}};
    put_number(bytes, sizeof bytes, bits);
    if (kind < STRING) /* a number is as narrow as its kind */
        field.number = take_number(bytes, (size_t)2 << kind);
    return field;
}

/* Of one of these kinds. Numbers are near a power of two as often as not; strings are short, or as
 * long as a length of one more byte begins. */
static struct field some_field(unsigned kinds, size_t longest)
{
    uint64_t power = (uint64_t)1 << check_below(64);
    uint64_t numbers[] = {power, power - 1, ~power, -power, check_random(), check_random()};
    size_t border = (size_t)1 << (7 * (1 + check_below(3))), size = border - 1 + check_below(3);
    enum kind kind;
    do
        kind = (enum kind)check_below(KINDS);
    while (!(kinds & 1U << kind));
    if (size > longest || check_below(20) > 0)
        size = check_below(longest < LONG ? longest : LONG);
    return field_of(kind, numbers[check_below(6)], size);
}

/* Bytes with which lengths go wrong. */
static uint8_t odd_byte(void)
{
    static const uint8_t BYTES_THAT_MATTER[] = {0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0x81, 0xff};
    return BYTES_THAT_MATTER[check_below(sizeof BYTES_THAT_MATTER)];
}

/* So large that it wraps when it is added to a pointer, or with one bit set. */
static size_t odd_size(void)
{
    return check_below(2) ? -(size_t)check_below(24) : (size_t)1 << check_below(64);
}

/* A string whose length has more groups than it needs, or lies. */
static uint8_t *put_odd_string(uint8_t *to)
{
    size_t groups = check_below(7);
    memset(to, 0x80, groups);
    to[groups] = odd_byte();
    return to + groups + 1;
}

/* Puts a message of such fields into `due`, often cut, with a wrong length, or another wrong byte.
 * Returns its size. */
static size_t some_message(struct field *fields, size_t count, unsigned kinds, size_t longest)
{
    uint8_t *end = due;
    for (size_t i = 0; i < count; i++) {
        fields[i] = some_field(kinds, longest);
        bool odd = check_below(4) == 0;
        end = odd && fields[i].kind == STRING ? put_odd_string(end) : put(end, &fields[i]);
        if (odd && fields[i].kind == BYTES)
            fields[i].bytes.size = odd_size();
    }
    size_t size = (size_t)(end - due);
    if (size > 0 && check_below(3) == 0)
        due[check_below(size)] = odd_byte();
    switch (check_below(4)) {
    case 0:
        return check_below(size + 1);
    case 1:
        return size > 0 ? size - 1 : 0;
    default:
        return size;
    }
}

/* The reader */

static bool read_field(struct reader *r, struct field *field)
{
    int16_t narrow = 0;
    int32_t middle = 0;
    bool ok;
    switch (field->kind) {
    case I16:
        ok = reader_i16(r, &narrow);
        field->number = narrow;
        return ok;
    case I32:
        ok = reader_i32(r, &middle);
        field->number = middle;
        return ok;
    case I64:
        return reader_i64(r, &field->number);
    case STRING:
        return reader_string(r, &field->bytes);
    default:
        return reader_bytes(r, field->bytes.size, &field->bytes);
    }
}

/* Reads a field with the module, and beside it. Returns true if the message holds it: behind a
 * field that it does not hold there is none. `hint`: NULL for that of the field's kind. */
static bool agree(struct reader *r, struct reader *left, struct field field, const char *hint)
{
    const char *name = KIND[field.kind].name;
    const char *wrong = hint ? hint : KIND[field.kind].hint;
    const char *beyond = hint || field.kind == STRING ? wrong : BEYOND;
    struct field right = field;
    bool holds = take(left, &right), ok = read_field(r, &field);
    CHECK(ok == holds, beyond, "reader_%s() returned %s", name,
          ok ? "true, but the message does not have this field" : "false, but the field is there");
    if (!ok)
        return false;
    if (field.kind < STRING)
        CHECK(field.number == right.number, wrong,
              "reader_%s() gave %" PRId64 " instead of %" PRId64, name, field.number, right.number);
    else
        check_equal(wrong, "the bytes read", right.bytes.data, right.bytes.size, field.bytes.data,
                    field.bytes.size);
    CHECK(reader_at_end(r) == (left->left == 0), hint ? hint : BEYOND,
          "reader_at_end() returned %s after it", reader_at_end(r) ? "true" : "false");
    return true;
}

static void read_all(const uint8_t *message, size_t size, const struct field *fields, size_t count,
                     const char *hint)
{
    struct reader left = {.next = message, .left = size};
    struct reader r = {.next = check_at_the_end(message, size), .left = size};
    check_step("has a message of %s", check_hex(message, size));
    bool holds = true;
    for (size_t i = 0; i < count && holds; i++) {
        check_step("calls reader_%s() at byte %zu", KIND[fields[i].kind].name, size - left.left);
        if (fields[i].kind == BYTES)
            check_step("asks it for %zu bytes", fields[i].bytes.size);
        holds = agree(&r, &left, fields[i], hint);
    }
}

/* Few fields first, so that the first failure is a small one. */
static void read_some(unsigned kinds)
{
    struct field fields[FIELDS_MAX];
    check_fill(text, sizeof text);
    for (size_t i = 0; i < MESSAGES; i++) {
        size_t count = 1 + FIELDS_MAX * i / MESSAGES;
        size_t size = some_message(fields, count, kinds, LONGEST);
        check_case();
        read_all(due, size, fields, count, NULL);
    }
}

static void integers(void)
{
    read_some(NUMBERS);
    read_some(NUMBERS | 1 << BYTES); /* at every address */
}

/* Bytes, and integers whose message is too short for them. */
static void within(void)
{
    read_some(1 << BYTES);
    for (struct field field = {.kind = I16}; field.kind <= I64; field.kind++)
        for (size_t size = 0; size < (size_t)2 << field.kind; size++) {
            check_case();
            read_all(text, size, &field, 1, NULL);
        }
}

static void lengths(void)
{
    read_some(1 << STRING);
}

/* The writer */

static void write_field(struct writer *w, struct field field)
{
    const char *name = KIND[field.kind].name;
    if (field.kind < STRING)
        check_step("calls writer_%s() with %" PRId64, name, field.number);
    else
        check_step("calls writer_%s() with %s", name,
                   check_hex(field.bytes.data, field.bytes.size));
    switch (field.kind) {
    case I16:
        return writer_i16(w, (int16_t)field.number);
    case I32:
        return writer_i32(w, (int32_t)field.number);
    case I64:
        return writer_i64(w, field.number);
    case STRING:
        return writer_string(w, field.bytes.data, (uint32_t)field.bytes.size);
    default:
        return writer_bytes(w, field.bytes.data, field.bytes.size);
    }
}

/* Writes a frame behind the `held` bytes of `due` that the buffer holds. Returns the size of all. */
static size_t write_frame(struct buffer *out, size_t held, const struct field *fields, size_t count,
                          const char *hint)
{
    uint8_t *body = due + held + HEADER_BYTES, *end = body;
    struct writer w;
    check_step("calls writer_begin(), the buffer holds %zu bytes", held);
    writer_begin(&w, out);
    for (size_t i = 0; i < count; i++) {
        end = put(end, &fields[i]);
        write_field(&w, fields[i]);
    }
    size_t size = (size_t)(end - body), before = held + HEADER_BYTES;
    put_number(due + held, HEADER_BYTES, size);
    check_step("calls writer_end()");
    CHECK(writer_end(&w), NO_FREE_SPACE, "writer_end() returned false, but there was memory");
    CHECK(buffer_len(out) >= before, LENGTH, "there is no space for the length");
    check_equal(hint, "the body", body, size, buffer_head(out) + before, buffer_len(out) - before);
    check_equal(LENGTH, "what is in front of the body", due, before, buffer_head(out), before);
    return before + size;
}

static void fields(void)
{
    check_fill(text, sizeof text);
    for (size_t i = 0; i < MESSAGES; i++) {
        struct field field = some_field(~(1U << BYTES), LONGEST);
        struct buffer out = {0};
        check_case();
        write_frame(&out, 0, &field, 1, KIND[field.kind].hint);
        buffer_free(&out);
    }
}

/* A buffer out of whose head a byte has gone, so that head and block begin at different places. */
static struct buffer some_held(void)
{
    struct buffer out = {0};
    check_fill(due, HELD_BYTES);
    if (!buffer_append(&out, text, 1) || !buffer_append(&out, due, HELD_BYTES))
        check_impossible("no memory");
    buffer_consume(&out, 1);
    return out;
}

/* Several frames, which grow so that the buffer moves. */
static void frames(void)
{
    for (size_t i = 0; i < FRAMES; i++) {
        struct field some[FIELDS_MAX];
        check_case();
        struct buffer out = some_held();
        size_t size = HELD_BYTES;
        for (int message = 0; message < 3; message++) {
            for (size_t j = 0; j < FIELDS_MAX; j++)
                some[j] = some_field(~0U, 1 << 15);
            size = write_frame(&out, size, some, FIELDS_MAX, LENGTH);
        }
        buffer_free(&out);
    }
}

/* No memory, while one of the fields is written. Each of them is so large that the buffer grows. */
static void no_room(void)
{
    for (int missing = 0; missing <= FIELDS_MAX; missing++) {
        int failed = 0;
        struct writer w;
        check_case();
        struct buffer out = some_held();
        spare_free();
        check_step("calls writer_begin(), and writes %d strings", FIELDS_MAX);
        writer_begin(&w, &out);
        for (int i = 0; i < FIELDS_MAX; i++) {
            if (i == missing)
                no_memory_begin();
            writer_string(&w, text, 1 << (10 + i));
            if (i == missing)
                failed = no_memory_end();
        }
        check_step("calls writer_end(); for field %d there was %s memory", missing,
                   failed > 0 ? "no" : "enough");
        bool ended = writer_end(&w);
        CHECK(ended == (failed == 0), NO_FREE_SPACE, "writer_end() returned %s",
              ended ? "true, but a field is missing" : "false, but there was memory");
        if (!ended)
            check_equal(NO_FREE_SPACE, "the buffer's contents", due, HELD_BYTES, buffer_head(&out),
                        buffer_len(&out));
        buffer_free(&out);
    }
}

/* The fuzzer */

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    struct field fields[FIELDS_MAX];
    size_t count = size > 0 ? input[0] % FIELDS_MAX + 1 : 0;
    if (size < 1 + count)
        return 0;
    for (size_t i = 0; i < count; i++)
        fields[i] = field_of(input[1 + i] % KINDS, 0, input[1 + i] / KINDS);
    check_case();
    read_all(input + 1 + count, size - 1 - count, fields, count, "fuzzed-message");
    return 0;
}

static void mutated(void)
{
    size_t inputs = (size_t)check_number("inputs");
    check_fill(text, SHORT);
    for (size_t i = 0; i < inputs; i++) {
        struct field fields[FIELDS_MAX];
        uint8_t input[INPUT_MAX];
        size_t count = 1 + FIELDS_MAX * i / inputs, size = some_message(fields, count, ~0U, SHORT);
        input[0] = (uint8_t)(count - 1);
        for (size_t j = 0; j < count; j++)
            input[1 + j] = (uint8_t)(fields[j].kind + KINDS * fields[j].bytes.size);
        memcpy(input + 1 + count, due, size);
        LLVMFuzzerTestOneInput(input, 1 + count + size);
    }
}

/* The one that the option has, in hex. */
static void one(void)
{
    static uint8_t input[INPUT_MAX];
    size_t size = 0;
    unsigned byte;
    for (const char *hex = check_option("input"); size < INPUT_MAX; hex += 2) {
        if (sscanf(hex, "%2x", &byte) != 1)
            break;
        input[size++] = (uint8_t)byte;
    }
    LLVMFuzzerTestOneInput(input, size);
}

const struct check checks[] = {
    {"integers", integers}, {"within", within}, {"lengths", lengths},
    {"fields", fields},     {"frames", frames}, {"no_room", no_room},
    {"mutated", mutated},   {"one", one},       {0},
};

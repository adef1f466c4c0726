/* Reader and writer together: what one has written the other reads.
 * links: reader.c writer.c buffer.c */
#include <inttypes.h>
#include <string.h>

#include "buffer.h"
#include "check.h"
#include "fields.h"
#include "reader.h"
#include "writer.h"

#define THERE_AND_BACK "there-and-back"

enum { HEADER_BYTES = 4, FIELDS_MAX = 12, TEXT_BYTES = 70000 };

enum kind { I16, I32, I64, STRING, BYTES, KINDS };

static const char *const NAMES[KINDS] = {"an i16", "an i32", "an i64", "a string", "bytes"};

struct field {
    enum kind kind;
    int64_t number;
    const uint8_t *data;
    size_t size;
};

static uint8_t text[TEXT_BYTES];

/* Mostly small ones, and of every width. */
static struct field some_field(void)
{
    struct field field = {.kind = (enum kind)check_below(KINDS)};
    uint8_t bytes[8];
    fields_put_number(bytes, sizeof bytes, check_random() >> check_below(64));
    if (field.kind < STRING)
        field.number = fields_take_number(bytes, (size_t)2 << field.kind);
    field.size = check_below(check_below(20) == 0 ? TEXT_BYTES : 300);
    field.data = text + check_below(TEXT_BYTES - field.size);
    return field;
}

static void write_field(struct writer *w, const struct field *field)
{
    switch (field->kind) {
    case I16:
        writer_i16(w, (int16_t)field->number);
        break;
    case I32:
        writer_i32(w, (int32_t)field->number);
        break;
    case I64:
        writer_i64(w, field->number);
        break;
    case STRING:
        writer_string(w, field->data, (uint32_t)field->size);
        break;
    default:
        writer_bytes(w, field->data, field->size);
    }
}

static bool read_number(struct reader *r, enum kind kind, int64_t *number)
{
    int16_t narrow = 0;
    int32_t middle = 0;
    switch (kind) {
    case I16:
        return reader_i16(r, &narrow) && (*number = narrow, true);
    case I32:
        return reader_i32(r, &middle) && (*number = middle, true);
    default:
        return reader_i64(r, number);
    }
}

static void expect_field(struct reader *r, const struct field *field)
{
    const char *name = NAMES[field->kind];
    if (field->kind < STRING) {
        int64_t number = 0;
        check_step("reads %s, written as %" PRId64, name, field->number);
        CHECK(read_number(r, field->kind, &number), THERE_AND_BACK, "%s cannot be read", name);
        CHECK(number == field->number, THERE_AND_BACK, "%s is %" PRId64 " instead of %" PRId64,
              name, number, field->number);
        return;
    }
    struct bytes bytes = {0};
    check_step("reads %s, %zu of them were written", name, field->size);
    bool ok =
        field->kind == STRING ? reader_string(r, &bytes) : reader_bytes(r, field->size, &bytes);
    CHECK(ok, THERE_AND_BACK, "%s of %zu cannot be read", name, field->size);
    check_equal(THERE_AND_BACK, "the bytes read", field->data, field->size, bytes.data, bytes.size);
}

/* Writes a message, takes its frame apart, and reads it; the buffer is as before then. */
static void there_and_back(struct buffer *buffer)
{
    struct field fields[FIELDS_MAX];
    size_t count = check_below(FIELDS_MAX + 1);
    struct writer w;
    check_case();
    check_step("writes a message of %zu fields", count);
    writer_begin(&w, buffer);
    for (size_t i = 0; i < count; i++) {
        fields[i] = some_field();
        write_field(&w, &fields[i]);
    }
    CHECK(writer_end(&w), THERE_AND_BACK, "writer_end() returned false, but there was memory");
    size_t size = buffer_len(buffer) - HEADER_BYTES;
    uint64_t length = (uint64_t)fields_take_number(buffer_head(buffer), HEADER_BYTES);
    CHECK(length == size, THERE_AND_BACK,
          "the length before the body is %" PRIu64 ", but the body has %zu bytes", length, size);
    struct reader r = {.next = buffer_head(buffer) + HEADER_BYTES, .left = size};
    for (size_t i = 0; i < count; i++)
        expect_field(&r, &fields[i]);
    CHECK(reader_at_end(&r), THERE_AND_BACK, "bytes are left after the last field");
    buffer_consume(buffer, HEADER_BYTES + size);
}

static void round_trip(void)
{
    struct buffer buffer = {0};
    check_fill(text, sizeof text);
    for (long i = check_number("messages"); i > 0; i--) {
        there_and_back(&buffer);
        if (i % 16 == 0)
            buffer_trim(&buffer);
    }
    buffer_free(&buffer);
    spare_free();
}

const struct check checks[] = {
    {"round_trip", round_trip},
    {0},
};

/* The reader beside another one, on messages that nobody would send: both must say the same of each
 * field. Under libFuzzer (make fuzz) it chooses the messages, else chance does.
 * links: reader.c
 *
 * An input names the fields to read, and then has the message:
 *
 *     +-------+---------------------+------------- - - -+
 *     | count | a kind of each      | the message       |
 *     +-------+---------------------+------------- - - -+
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fields.h"
#include "reader.h"

#define HINT "fuzzed-message"

enum { FIELDS_MAX = 8, KINDS = 5, INPUT_MAX = 4096, TEXT_MAX = 40 };
enum { I16, I32, I64, STRING, BYTES }; /* a kind, modulo KINDS; of BYTES the rest is their number */

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

/* The right result for a field: a number, or bytes. */
struct due {
    bool ok;
    int64_t number;
    const uint8_t *data;
    size_t size;
};

struct left {
    const uint8_t *next;
    size_t size;
};

static bool take(struct left *left, uint64_t size, const uint8_t **data)
{
    if (left->size < size)
        return false;
    *data = left->next;
    left->next += size;
    left->size -= (size_t)size;
    return true;
}

static bool take_leb128(struct left *left, uint64_t *number)
{
    const uint8_t *byte;
    int groups = 0;
    *number = 0;
    do {
        if (groups == LEB128_BYTES || !take(left, 1, &byte))
            return false;
        *number += (uint64_t)(*byte % 128) << 7 * groups++;
    } while (*byte >= 128);
    return *number <= UINT32_MAX;
}

static struct due due_of(struct left *left, uint8_t kind)
{
    struct due due = {0};
    uint64_t size = kind / KINDS;
    switch (kind % KINDS) {
    case STRING:
        due.ok = take_leb128(left, &size) && take(left, size, &due.data);
        break;
    case BYTES:
        due.ok = take(left, size, &due.data);
        break;
    default:
        size = (uint64_t)2 << kind % KINDS;
        due.ok = take(left, size, &due.data);
        if (due.ok)
            due.number = fields_take_number(due.data, (size_t)size);
        return due;
    }
    due.size = (size_t)size;
    return due;
}

/* The module */

static bool read_field(struct reader *r, uint8_t kind, int64_t *number, struct bytes *bytes)
{
    int16_t narrow = 0;
    int32_t middle = 0;
    bool ok;
    switch (kind % KINDS) {
    case I16:
        ok = reader_i16(r, &narrow);
        *number = narrow;
        return ok;
    case I32:
        ok = reader_i32(r, &middle);
        *number = middle;
        return ok;
    case I64:
        return reader_i64(r, number);
    case STRING:
        return reader_string(r, bytes);
    default:
        return reader_bytes(r, kind / KINDS, bytes);
    }
}

/* Whether both went on: a message that does not hold a field holds none behind it. */
static bool agree(struct reader *r, struct left *left, size_t at, uint8_t kind)
{
    static const char *const NAMES[KINDS] = {"reader_i16", "reader_i32", "reader_i64",
                                             "reader_string", "reader_bytes"};
    const char *name = NAMES[kind % KINDS];
    int64_t number = 0;
    struct bytes bytes = {0};
    check_step("calls %s() at byte %zu", name, at);
    struct due due = due_of(left, kind);
    bool ok = read_field(r, kind, &number, &bytes);
    CHECK(ok == due.ok, HINT, "%s() returned %s", name,
          ok ? "true, but the message does not have this field" : "false, but the field is there");
    if (!ok)
        return false;
    if (kind % KINDS < STRING) {
        CHECK(number == due.number, HINT, "%s() gave %" PRId64 " instead of %" PRId64, name, number,
              due.number);
    } else {
        check_equal(HINT, "the bytes read", due.data, due.size, bytes.data, bytes.size);
    }
    CHECK(reader_at_end(r) == (left->size == 0), HINT, "reader_at_end() returned %s after it",
          reader_at_end(r) ? "true" : "false");
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size == 0)
        return 0;
    size_t count = input[0] % FIELDS_MAX + 1;
    if (size < 1 + count)
        return 0;
    struct left left = {.next = input + 1 + count, .size = size - 1 - count};
    struct reader r = {.next = check_at_the_end(left.next, left.size), .left = left.size};
    check_case();
    check_input(input, size);
    check_step("has a message of %s", check_hex(left.next, left.size));
    size_t whole = left.size;
    for (size_t i = 0; i < count && agree(&r, &left, whole - left.size, input[1 + i]); i++)
        ;
    return 0;
}

/* Chance */

static uint8_t *put_field(uint8_t *to, uint8_t kind)
{
    size_t size = kind / KINDS;
    switch (kind % KINDS) {
    case STRING:
        size = check_below(TEXT_MAX);
        to = fields_put_leb128(
            to, (uint32_t)(check_below(8) > 0 ? size : check_random() >> check_below(64)));
        break;
    case BYTES:
        break;
    default:
        size = (size_t)2 << kind % KINDS;
    }
    check_fill(to, size);
    return to + size;
}

/* Returns the size of the message that is left when one small thing was done to it. */
static size_t mutate(uint8_t *message, size_t size)
{
    static const uint8_t BYTES_THAT_MATTER[] = {0x00, 0x01, 0x0f, 0x10, 0x7f, 0x80, 0x81, 0xff};
    if (size == 0)
        return 0;
    size_t at = check_below(size);
    switch (check_below(5)) {
    case 0:
        return at;
    case 1:
        message[at] ^= (uint8_t)(1 << check_below(8));
        return size;
    case 2:
        memset(message + at, 0x80, check_below(7) % (size - at + 1));
        return size;
    case 3:
        memmove(message + at, message + at + 1, size - at - 1);
        return size - 1;
    default:
        message[at] = BYTES_THAT_MATTER[check_below(sizeof BYTES_THAT_MATTER)];
        return size;
    }
}

/* An input by chance, with at most so many fields. Returns its size. */
static size_t some_input(uint8_t input[INPUT_MAX], size_t fields)
{
    size_t count = check_below(fields) + 1;
    input[0] = (uint8_t)(count - 1);
    uint8_t *message = input + 1 + count, *end = message;
    for (size_t i = 0; i < count; i++) {
        input[1 + i] = (uint8_t)check_random();
        end = put_field(end, input[1 + i]);
    }
    size_t size = (size_t)(end - message);
    for (uint64_t i = check_below(4); i > 0; i--)
        size = mutate(message, size);
    return 1 + count + size;
}

static void mutated(void)
{
    long inputs = check_number("inputs");
    for (long i = 0; i < inputs; i++) {
        uint8_t input[INPUT_MAX];
        /* Few fields first, so that the first failure is a small one. */
        size_t fields = 1 + (size_t)(FIELDS_MAX * i / inputs);
        LLVMFuzzerTestOneInput(input, some_input(input, fields));
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
    {"mutated", mutated},
    {"one", one},
    {0},
};

#include "redis/resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/words.h"
#include "wire/number.h"

struct bytes request_arg(const struct request *request, size_t index)
{
    struct place place = request->places[index];
    return (struct bytes){.data = request->bytes + place.at, .size = place.size};
}

static enum resp_result bad(struct resp *r, const char *error)
{
    snprintf(r->error, sizeof r->error, "%s", error);
    return RESP_BAD;
}

/* Adds an argument. False: no memory. */
static bool add(struct resp *r, size_t at, size_t size)
{
    if (r->count == r->cap) {
        size_t cap = r->cap > 0 ? 2 * r->cap : 8;
        struct place *places = realloc(r->places, cap * sizeof *places);
        if (places == NULL)
            return false;
        r->places = places;
        r->cap = cap;
    }
    r->places[r->count++] = (struct place){.at = (uint32_t)at, .size = (uint32_t)size};
    return true;
}

// BEGIN parser
/* Takes the line of a count or a length, which begins at r->at and ends with CR LF. RESP_BAD: it is
 * too long. */
static enum resp_result take_line(struct resp *r, const uint8_t *bytes, size_t size,
                                  struct bytes *line)
{
    const uint8_t *cr = memchr(bytes + r->seen, '\r', size - r->seen);
    r->seen = cr != NULL ? (size_t)(cr - bytes) : size;
    if (r->seen - r->at > RESP_MAX_LINE_BYTES)
        return RESP_BAD;
    if (size - r->seen < 2) /* the CR, or its LF, is still to come */
        return RESP_PARTIAL;
    *line = (struct bytes){.data = bytes + r->at, .size = r->seen - r->at};
    r->at = r->seen = r->seen + 2;
    return RESP_OK;
}

/* The number in a line, after its first byte. */
static bool number_in(struct bytes line, int64_t *value)
{
    return number_parse((struct bytes){line.data + 1, line.size - 1}, value);
}

/* *N: how many arguments come. */
static enum resp_result parse_count(struct resp *r, const uint8_t *bytes, size_t size)
{
    struct bytes line;
    int64_t count;
    enum resp_result result = take_line(r, bytes, size, &line);
    if (result == RESP_BAD)
        return bad(r, "too big mbulk count string");
    if (result != RESP_OK)
        return result;
    if (!number_in(line, &count) || count > RESP_MAX_ARGUMENTS)
        return bad(r, "invalid multibulk length");
    r->left = count > 0 ? (uint32_t)count : 0;
    r->part = r->left > 0 ? RESP_LENGTH : RESP_WHOLE;
    return RESP_OK;
}

/* $N: how many bytes the next argument has. */
static enum resp_result parse_length(struct resp *r, const uint8_t *bytes, size_t size)
{
    struct bytes line;
    int64_t length;
    enum resp_result result = take_line(r, bytes, size, &line);
    if (result == RESP_BAD)
        return bad(r, "too big bulk count string");
    if (result != RESP_OK)
        return result;
    if (line.data[0] != '$') {
        snprintf(r->error, sizeof r->error, "expected '$', got '%c'", line.data[0]);
        return RESP_BAD;
    }
    if (!number_in(line, &length) || length < 0 || length > RESP_MAX_ARGUMENT_BYTES ||
        r->at + (size_t)length > RESP_MAX_REQUEST_BYTES)
        return bad(r, "invalid bulk length");
    r->length = (uint32_t)length;
    r->part = RESP_BYTES;
    return RESP_OK;
}

/* The bytes of an argument. Their number is known, so they need not be looked at. */
static enum resp_result parse_bytes(struct resp *r, size_t size)
{
    size_t with_end = (size_t)r->length + 2;
    if (size - r->at < with_end)
        return RESP_PARTIAL;
    if (!add(r, r->at, r->length))
        return RESP_NO_MEMORY;
    r->at = r->seen = r->at + with_end;
    r->left--;
    r->part = r->left > 0 ? RESP_LENGTH : RESP_WHOLE;
    return RESP_OK;
}

/* All words of an inline request. LF ends it, and a CR before that is not a part of it. */
static enum resp_result parse_inline(struct resp *r, uint8_t *bytes, size_t size)
{
    const uint8_t *lf = memchr(bytes + r->seen, '\n', size - r->seen);
    size_t end = lf != NULL ? (size_t)(lf - bytes) : size;
    r->seen = end;
    if (end > RESP_MAX_LINE_BYTES)
        return bad(r, "too big inline request");
    if (lf == NULL)
        return RESP_PARTIAL;
    r->at = end + 1;
    if (end > 0 && bytes[end - 1] == '\r')
        end--;
    struct bytes word;
    enum words_result result;
    size_t at = 0;
    while ((result = words_next(bytes, end, &at, &word)) == WORDS_OK)
        if (!add(r, (size_t)(word.data - bytes), word.size))
            return RESP_NO_MEMORY;
    r->part = RESP_WHOLE;
    return result == WORDS_BAD ? bad(r, "unbalanced quotes in request") : RESP_OK;
}

/* Takes the next part of the request. */
static enum resp_result parse_part(struct resp *r, uint8_t *bytes, size_t size)
{
    switch (r->part) {
    case RESP_FIRST:
        if (size == 0)
            return RESP_PARTIAL;
        r->part = bytes[0] == '*' ? RESP_COUNT : RESP_INLINE;
        break;
    case RESP_COUNT:
        return parse_count(r, bytes, size);
    case RESP_LENGTH:
        return parse_length(r, bytes, size);
    case RESP_BYTES:
        return parse_bytes(r, size);
    case RESP_INLINE:
        return parse_inline(r, bytes, size);
    case RESP_WHOLE:
        break;
    }
    return RESP_OK;
}

enum resp_result resp_parse(struct resp *r, uint8_t *bytes, size_t size, struct request *request)
{
    while (r->part != RESP_WHOLE) {
        enum resp_result result = parse_part(r, bytes, size);
        if (result != RESP_OK)
            return result;
    }
    *request = (struct request){bytes, r->at, r->places, r->count};
    r->part = RESP_FIRST;
    r->at = r->seen = r->count = 0;
    return RESP_OK;
}
// END parser

void resp_free(struct resp *r)
{
    free(r->places);
    *r = (struct resp){0};
}

void resp_trim(struct resp *r)
{
    if (r->part == RESP_FIRST)
        resp_free(r);
}

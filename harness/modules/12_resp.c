/* The parser of requests: in pieces, and what it looks at again when more has come.
 * links: resp.c words.c number.c */
#include <string.h>

#include "check.h"
#include "resp.h"

#define PARSER "resp-parser"
#define ONCE   "resp-looks-twice"

enum { MOST_WORDS = 4, STREAM_BYTES = 400, LONG_BYTES = 60000 };

/* A request, and the arguments that it has. */
static const struct sample {
    const char *text;
    const char *words[MOST_WORDS]; /* NULL after the last one */
} samples[] = {
    {"*1\r\n$4\r\nPING\r\n", {"PING"}},
    {"PING\r\n", {"PING"}},
    {"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\n*1\r\n$2\r\n", {"SET", "k", "*1\r\n$2"}},
    {"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", {"ECHO", ""}},
    {"*0\r\n", {NULL}},
    {"*-1\r\n", {NULL}},
    {"\r\n", {NULL}},
    {"set k \"a b\"\n", {"set", "k", "a b"}},
    {"*2\r\n$3\r\nGET\r\n$12\r\nkey of 12 by\r\n", {"GET", "key of 12 by"}},
    {"  ECHO '\\x41' \r\n", {"ECHO", "\\x41"}},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

/* The bytes that have arrived, of one request after the other. */
struct stream {
    uint8_t bytes[STREAM_BYTES];
    size_t size;
    struct resp parser;
};

static size_t words_in(const struct sample *sample)
{
    size_t count = 0;
    while (count < MOST_WORDS && sample->words[count] != NULL)
        count++;
    return count;
}

static void expect(const struct sample *sample, const struct request *request)
{
    CHECK(request->size == strlen(sample->text), PARSER, "the request has %zu bytes instead of %zu",
          request->size, strlen(sample->text));
    CHECK(request->count == words_in(sample), PARSER, "it has %zu arguments instead of %zu",
          request->count, words_in(sample));
    for (size_t i = 0; i < request->count; i++) {
        struct bytes arg = request_arg(request, i);
        check_equal(PARSER, "the argument", sample->words[i], strlen(sample->words[i]), arg.data,
                    arg.size);
    }
}

static enum resp_result parse(struct resp *r, const uint8_t *bytes, size_t size,
                              struct request *request)
{
    check_step("calls resp_parse() on %s", check_hex(bytes, size));
    return resp_parse(r, check_at_the_end(bytes, size), size, request);
}

/* More bytes arrive; the requests from samples[*next] on that are complete with them are found. */
static void arrive(struct stream *s, const char *bytes, size_t size, size_t *next)
{
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    while (s->size > 0) {
        struct request request;
        enum resp_result result = parse(&s->parser, s->bytes, s->size, &request);
        bool whole = *next < SAMPLES && s->size >= strlen(samples[*next].text);
        CHECK(result == (whole ? RESP_OK : RESP_PARTIAL), PARSER, "it returned %d instead of %s",
              result, whole ? "RESP_OK: the request is complete" : "RESP_PARTIAL");
        if (!whole)
            return;
        expect(&samples[*next], &request);
        s->size -= request.size;
        memmove(s->bytes, s->bytes + request.size, s->size);
        ++*next;
    }
}

/* So many samples, one after the other: the first bytes, then pieces of the same size. */
static void feed(size_t from, size_t count, size_t first, size_t piece)
{
    char all[STREAM_BYTES] = "";
    struct stream s = {.size = 0};
    size_t next = from, at = 0;
    for (size_t i = from; i < from + count; i++)
        strcat(all, samples[i].text);
    check_case();
    for (size_t size = first; at < strlen(all); at += size, size = piece) {
        if (size > strlen(all) - at)
            size = strlen(all) - at;
        arrive(&s, all + at, size, &next);
    }
    CHECK(next == from + count, PARSER, "%zu of %zu requests were found", next - from, count);
    resp_free(&s.parser);
}

static void pieces(void)
{
    for (size_t i = 0; i < SAMPLES; i++)
        for (size_t first = 1; first < strlen(samples[i].text); first++)
            for (size_t piece = 1; piece < strlen(samples[i].text); piece++)
                feed(i, 1, first, piece);
}

/* All samples: also several at once. */
static void together(void)
{
    for (size_t piece = 1; piece <= STREAM_BYTES; piece++)
        feed(0, SAMPLES, piece, piece);
}

/* Bytes that were looked at are changed, in a way that a second look would notice. */

static void expect_partial(struct resp *r, const char *text, size_t size, const char *what)
{
    struct request request;
    enum resp_result result = parse(r, (const uint8_t *)text, size, &request);
    CHECK(result == RESP_PARTIAL, ONCE, "it returned %d instead of RESP_PARTIAL%s", result, what);
}

/* Of a request with complete arguments, all but the last line is spoilt. */
static void arguments_once(void)
{
    char text[] = "*3\r\n$3\r\nSET\r\n$5\r\nab\r\nc\r\n$4\r\n1234\r\n";
    size_t size = sizeof text - 1;
    for (size_t arrived = 4; arrived < size; arrived++) {
        struct resp r = {0};
        struct request request;
        char copy[sizeof text];
        memcpy(copy, text, sizeof text);
        check_case();
        expect_partial(&r, copy, arrived, "");
        static const size_t ends[] = {4, 8, 13, 17, 24, 28};
        size_t settled = 0; /* the lines and arguments that have come whole */
        for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
            if (ends[i] <= arrived)
                settled = ends[i];
        check_step("spoils the first %zu bytes, which it has looked at", settled);
        memset(copy, '?', settled);
        enum resp_result result = parse(&r, (const uint8_t *)copy, size, &request);
        CHECK(result == RESP_OK && request.count == 3 && request.size == size, ONCE,
              "it returned %d, so it looked at those bytes again", result);
        resp_free(&r);
    }
}

/* A line end appears where one was looked for in vain. */
static void lines_once(void)
{
    static const char begins[][8] = {"ECHO a", "*111", "*1\r\n$11"};
    static char line[LONG_BYTES];
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        for (size_t half = 20; half < LONG_BYTES / 2; half *= 10) {
            struct resp r = {0};
            size_t begun = strlen(begins[i]);
            check_case();
            memset(line, i == 0 ? 'a' : '1', sizeof line);
            memcpy(line, begins[i], begun);
            expect_partial(&r, line, half, "");
            check_step("puts a line end at byte %zu, where it has looked", begun);
            memcpy(line + begun, "\r\n", 2);
            expect_partial(&r, line, 2 * half, ": it found that line end, so it looked again");
            resp_free(&r);
        }
}

const struct check checks[] = {
    {"pieces", pieces},
    {"together", together},
    {"arguments_once", arguments_once},
    {"lines_once", lines_once},
    {0},
};

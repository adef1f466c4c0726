/* The parser of requests: in pieces, and what it looks at again when more has come.
 * links: resp.c words.c number.c */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "resp.h"

#define PARSER   "resp-parser"
#define ONCE     "resp-looks-twice"
#define DECLARED "resp-declared"
#define REFUSED  "resp-refused"

enum { MOST_WORDS = 4, STREAM_BYTES = 400, LONG_BYTES = 60000, DECLARED_BYTES = 64 << 10 };

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

static void cut(const struct sample *sample, size_t first, size_t second)
{
    struct stream s = {.size = 0};
    size_t next = (size_t)(sample - samples);
    check_case();
    arrive(&s, sample->text, first, &next);
    if (second > first)
        arrive(&s, sample->text + first, second - first, &next);
    arrive(&s, sample->text + second, strlen(sample->text + second), &next);
    CHECK(next == (size_t)(sample - samples) + 1, PARSER, "the request was not found");
    resp_free(&s.parser);
}

static void pieces(void)
{
    for (const struct sample *sample = samples; sample < samples + SAMPLES; sample++)
        for (size_t first = 1; first < strlen(sample->text); first++)
            for (size_t second = first; second < strlen(sample->text); second++)
                cut(sample, first, second);
}

/* All samples, one after the other, in pieces of the same size: also several at once. */
static void together(void)
{
    char all[STREAM_BYTES] = "";
    for (size_t i = 0; i < SAMPLES; i++)
        strcat(all, samples[i].text);
    size_t size = strlen(all);
    for (size_t piece = 1; piece <= size; piece++) {
        struct stream s = {.size = 0};
        size_t next = 0;
        check_case();
        for (size_t at = 0; at < size; at += piece)
            arrive(&s, all + at, at + piece < size ? piece : size - at, &next);
        CHECK(next == SAMPLES, PARSER, "%zu of %d requests were found", next, (int)SAMPLES);
        resp_free(&s.parser);
    }
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

/* Bytes that are no request, and what the parser says of them. */
static const struct {
    const char *text, *error;
} malformed[] = {
    {"*x\r\n", "invalid multibulk length"},
    {"*\r\n", "invalid multibulk length"},
    {"*1x\r\n", "invalid multibulk length"},
    {"* 1\r\n", "invalid multibulk length"},
    {"*1048577\r\n", "invalid multibulk length"},
    {"*2147483648\r\n", "invalid multibulk length"},
    {"*4294967297\r\n", "invalid multibulk length"},
    {"*18446744073709551617\r\n", "invalid multibulk length"},
    {"*1\r\nPING\r\n", "expected '$', got 'P'"},
    {"*1\r\n*1\r\n", "expected '$', got '*'"},
    {"*1\r\n$x\r\n", "invalid bulk length"},
    {"*1\r\n$\r\n", "invalid bulk length"},
    {"*1\r\n$-1\r\n", "invalid bulk length"},
    {"*1\r\n$4 \r\n", "invalid bulk length"},
    {"*2\r\n$1\r\na\r\n$33554433\r\n", "invalid bulk length"},
    {"*1\r\n$4294967296\r\n", "invalid bulk length"},
    {"*1\r\n$18446744073709551620\r\n", "invalid bulk length"},
    {"ECHO \"a\r\n", "unbalanced quotes in request"},
    {"ECHO \"a\"b\n", "unbalanced quotes in request"},
};

static void expect_refused(struct resp *r, const char *text, size_t size, const char *error)
{
    struct request request;
    enum resp_result result = parse(r, (const uint8_t *)text, size, &request);
    CHECK(result == RESP_BAD, REFUSED, "it returned %d instead of RESP_BAD", result);
    CHECK(strcmp(r->error, error) == 0, REFUSED, "the error is \"%.40s\" instead of \"%s\"",
          r->error, error);
}

static void refuses(void)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        const char *text = malformed[i].text;
        size_t whole = strlen(text);
        for (size_t begun = 0; begun < whole - 2; begun++) {
            struct resp r = {0};
            check_case();
            if (begun > 0)
                expect_partial(&r, text, begun, ": the line is not complete");
            expect_refused(&r, text, whole, malformed[i].error);
            resp_free(&r);
        }
    }
    static const char *const largest[] = {"*1048576\r\n", "*2\r\n$1\r\na\r\n$33554432\r\n"};
    for (size_t i = 0; i < sizeof largest / sizeof largest[0]; i++) {
        struct resp r = {0};
        check_case();
        expect_partial(&r, largest[i], strlen(largest[i]), ": that is allowed");
        resp_free(&r);
    }
}

/* A line that has no end is refused, once it is longer than a line may be. */
static void refuses_long_lines(void)
{
    static const struct {
        const char *begin, *error;
    } lines[] = {
        {"ECHO a", "too big inline request"},
        {"*1", "too big mbulk count string"},
        {"*1\r\n$1", "too big bulk count string"},
    };
    static char line[RESP_MAX_LINE_BYTES + 100];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct resp r = {0};
        check_case();
        memset(line, '1', sizeof line);
        memcpy(line, lines[i].begin, strlen(lines[i].begin));
        size_t before = i == 2 ? strlen("*1\r\n") : 0, most = before + RESP_MAX_LINE_BYTES;
        expect_partial(&r, line, most, ": the line is not too long");
        expect_refused(&r, line, most + 1, lines[i].error);
        resp_free(&r);
    }
}

/* All arguments together have a limit, too. The bytes of an argument are not looked at, so there is
 * no need to write them. */
static void refuses_much(void)
{
    static const char begin[] = "*2\r\n$33554432\r\n";
    size_t size = strlen(begin) + RESP_MAX_ARGUMENT_BYTES + 2;
    uint8_t *bytes = check_memory(size + 100);
    memcpy(bytes, begin, strlen(begin));
    for (int more = 0; more <= 1; more++) {
        struct resp r = {0};
        struct request request;
        check_case();
        size_t line = strlen("$33554432\r\n"), length = RESP_MAX_REQUEST_BYTES - size - line;
        int written = snprintf((char *)bytes + size, 100, "$%zu\r\n", length + (size_t)more);
        check_step("calls resp_parse() with an argument of 32 MiB, and a length of %zu",
                   length + (size_t)more);
        enum resp_result result = resp_parse(&r, bytes, size + (size_t)written, &request);
        CHECK(result == (more ? RESP_BAD : RESP_PARTIAL), REFUSED,
              "it returned %d, and together that is %s RESP_MAX_REQUEST_BYTES", result,
              more ? "one byte more than" : "exactly");
        resp_free(&r);
    }
    free(bytes);
}

/* Memory is taken for what has come, and not for what was declared. */
static void declared(void)
{
    static const char *const texts[] = {"*1048576\r\n", "*1048576\r\n$3\r\nDEL\r\n$1\r\n",
                                        "*2\r\n$4\r\nECHO\r\n$33554432\r\nabc"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct resp r = {0};
        check_case();
        struct mallinfo2 before = mallinfo2();
        expect_partial(&r, texts[i], strlen(texts[i]), "");
        struct mallinfo2 after = mallinfo2();
        size_t taken = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
        CHECK(taken <= DECLARED_BYTES, DECLARED, "it took %zu bytes of memory", taken);
        resp_free(&r);
    }
}

const struct check checks[] = {
    {"pieces", pieces},
    {"together", together},
    {"arguments_once", arguments_once},
    {"lines_once", lines_once},
    {"declared", declared},
    {"refuses", refuses},
    {"refuses_long_lines", refuses_long_lines},
    {"refuses_much", refuses_much},
    {0},
};

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

/* TODO 1: Find the next request, and where its arguments are, however the bytes are cut. Graded
 * by test_12_requests_in_pieces.
 * `at` is where the next part begins, `seen` how far its end was looked for: go on there with
 * the next call. The bytes of an argument need not be looked at, since their number is known.
 * A count or a length that is too large is refused before anything arrives for it. Negative
 * counts are empty requests. words_next() takes an inline request apart, and bad() writes the
 * reason. */
enum resp_result resp_parse(struct resp *r, uint8_t *bytes, size_t size, struct request *request)
{
    (void)bytes, (void)size, (void)request, (void)add;
    return bad(r, "TODO 1 is still to do");
}

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

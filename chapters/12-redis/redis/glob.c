#include "redis/glob.h"

#include <stddef.h>
#include <stdint.h>

static bool in_range(uint8_t byte, uint8_t one, uint8_t other)
{
    return one < other ? one <= byte && byte <= other : other <= byte && byte <= one;
}

/* Compares a byte with the set that begins at *at, after its [, and moves *at past its ]. A set
 * without a ] ends with the pattern. */
static bool match_set(struct bytes pattern, size_t *at, uint8_t byte)
{
    const uint8_t *p = pattern.data;
    size_t i = *at;
    bool negated = i < pattern.size && p[i] == '^';
    bool found = false;
    for (i += negated; i < pattern.size && p[i] != ']'; i++) {
        if (p[i] == '\\' && i + 1 < pattern.size) {
            found = p[++i] == byte || found;
        } else if (i + 2 < pattern.size && p[i + 1] == '-') {
            found = in_range(byte, p[i], p[i + 2]) || found;
            i += 2;
        } else {
            found = p[i] == byte || found;
        }
    }
    *at = i < pattern.size ? i + 1 : i;
    return found != negated;
}

/* Compares a byte with what is at *at, which is not a *, and moves *at past it. */
static bool match_one(struct bytes pattern, size_t *at, uint8_t byte)
{
    uint8_t first = pattern.data[(*at)++];
    if (first == '?')
        return true;
    if (first == '[')
        return match_set(pattern, at, byte);
    if (first == '\\' && *at < pattern.size)
        first = pattern.data[(*at)++];
    return first == byte;
}

bool glob_match(struct bytes pattern, struct bytes text)
{
    size_t p = 0;
    size_t t = 0;
    size_t star = SIZE_MAX; /* after the last *, in the pattern; SIZE_MAX: there was none */
    size_t resume = 0; /* in the text: where to try again, if that * has to take one byte more */
    while (t < text.size || p < pattern.size) {
        if (p < pattern.size && pattern.data[p] == '*') {
            star = ++p;
            resume = t;
            continue;
        }
        if (p < pattern.size && t < text.size && match_one(pattern, &p, text.data[t])) {
            t++;
            continue;
        }
        /* Only the last * has to try again: what an earlier one took fits already. */
        if (star == SIZE_MAX || resume >= text.size)
            return false;
        p = star;
        t = ++resume;
    }
    return true;
}

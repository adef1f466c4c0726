#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { PERIOD_BYTES = 1 << 20 }; /* at least, or two frames: more than any first-level cache */

/* xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators, 2014): fast,
 * and the same in every run. */
static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

static void fill(uint8_t *bytes, size_t size)
{
    uint64_t state = 88172645463325252ull;
    for (size_t at = 0; at < size; at += sizeof state) {
        uint64_t bits = random_bits(&state);
        memcpy(bytes + at, &bits, size - at < sizeof bits ? size - at : sizeof bits);
    }
}

bool stream_make(struct stream *s, uint32_t body)
{
    s->frame = HEADER_BYTES + (size_t)body;
    size_t frames = PERIOD_BYTES / s->frame + 2;
    s->size = frames * s->frame;
    s->bytes = malloc(s->size);
    if (s->bytes == NULL)
        return false;
    fill(s->bytes, s->size);
    for (size_t at = 0; at < s->size; at += s->frame) {
        for (int i = 0; i < HEADER_BYTES; i++)
            s->bytes[at + (size_t)i] = (uint8_t)(body >> 8 * i);
    }
    return true;
}

void stream_free(struct stream *s)
{
    free(s->bytes);
    *s = (struct stream){0};
}

const uint8_t *stream_at(const struct stream *s, unsigned client, uint64_t at, size_t *together)
{
    size_t offset = (size_t)((at + (uint64_t)client * s->frame) % s->size);
    *together = s->size - offset;
    return s->bytes + offset;
}

size_t stream_differs(const struct stream *s, unsigned client, uint64_t at, const uint8_t *data,
                      size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t together;
        const uint8_t *expected = stream_at(s, client, at + done, &together);
        size_t piece = size - done < together ? size - done : together;
        if (memcmp(data + done, expected, piece) != 0) {
            while (data[done] == *expected++)
                done++;
            return done;
        }
        done += piece;
    }
    return size;
}

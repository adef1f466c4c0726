/* SipHash-1-3: a hash of bytes that depends on a secret key.
 *
 * Without the key nobody can choose bytes that have the same hash. So a client cannot fill one
 * bucket of a hash table on purpose. (Aumasson and Bernstein, SipHash: a fast short-input PRF. The
 * paper proposes two rounds a word and four at the end. Rust and Python use one and three.) */
#ifndef SIPHASH_H
#define SIPHASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct siphash_key {
    uint64_t low;
    uint64_t high;
};

static inline uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = siphash_rotate(v[1], 13) ^ v[0];
    v[0] = siphash_rotate(v[0], 32);
    v[2] += v[3];
    v[3] = siphash_rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = siphash_rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = siphash_rotate(v[1], 17) ^ v[2];
    v[2] = siphash_rotate(v[2], 32);
}

/* `size` bytes, at most 8, as a number, the lowest byte first. */
static inline uint64_t siphash_word(const uint8_t *bytes, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, bytes, size); /* not by a cast: the bytes may be at an odd address */
    return le64toh(word);
}

static inline void siphash_add(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    siphash_round(v);
    v[0] ^= word;
}

static inline uint64_t siphash(const struct siphash_key *key, const uint8_t *bytes, size_t size)
{
    uint64_t v[4] = {
        key->low ^ 0x736f6d6570736575,
        key->high ^ 0x646f72616e646f6d,
        key->low ^ 0x6c7967656e657261,
        key->high ^ 0x7465646279746573,
    };
    size_t words = size / 8;
    for (size_t i = 0; i < words; i++)
        siphash_add(v, siphash_word(bytes + 8 * i, 8));
    /* The last word has the bytes that are left, and the size. */
    siphash_add(v, siphash_word(bytes + 8 * words, size % 8) | (uint64_t)size << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        siphash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif

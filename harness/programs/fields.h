/* The fields of a message as the protocol has them: by a second hand, to hold a module against. */
#ifndef FIELDS_H
#define FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "check.h"

enum { LEB128_BYTES = 5, NUMBERS_MAX = 512, CHANCE_NUMBERS = 50 };

/* Writes the lowest `size` bytes of a number, the lowest first. Returns what is behind them. */
static inline uint8_t *put_number(uint8_t *to, size_t size, uint64_t number)
{
    for (; size > 0; size--, number /= 256)
        *to++ = (uint8_t)(number % 256);
    return to;
}

/* The same for a number in groups of 7 bits; it takes up to LEB128_BYTES. */
static inline uint8_t *put_leb128(uint8_t *to, uint32_t number)
{
    for (; number >= 128; number /= 128)
        *to++ = (uint8_t)(128 + number % 128);
    *to++ = (uint8_t)number;
    return to;
}

/* The number in `size` bytes, the lowest first, as two's complement. */
static inline int64_t take_number(const uint8_t *from, size_t size)
{
    uint64_t number = from[size - 1] >= 128 ? UINT64_MAX : 0;
    while (size > 0)
        number = number * 256 + from[--size];
    return (int64_t)number;
}

static inline void fill_by_chance(uint8_t *to, size_t size)
{
    while (size-- > 0)
        *to++ = (uint8_t)check_random();
}

/* Numbers round which mistakes are made: 0, each power of 2, what is next to them, some by chance;
 * and their negatives. Returns how many. */
static inline size_t interesting_numbers(uint64_t numbers[NUMBERS_MAX])
{
    size_t count = 0;
    numbers[count++] = 0x0807060504030201;
    numbers[count++] = 0xf8f7f6f5f4f3f2f1;
    numbers[count++] = 0;
    numbers[count++] = UINT64_MAX;
    for (int bit = 0; bit < 64; bit++) {
        uint64_t power = (uint64_t)1 << bit;
        numbers[count++] = power;
        numbers[count++] = power - 1;
        numbers[count++] = ~power;
        numbers[count++] = -power;
    }
    for (int i = 0; i < CHANCE_NUMBERS; i++)
        numbers[count++] = check_random();
    return count;
}

#endif

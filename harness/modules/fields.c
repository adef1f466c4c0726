#include "fields.h"

#include "check.h"

enum { CHANCE_NUMBERS = 50 };

uint8_t *fields_put_number(uint8_t *to, size_t size, uint64_t number)
{
    for (; size > 0; size--, number /= 256)
        *to++ = (uint8_t)(number % 256);
    return to;
}

uint8_t *fields_put_leb128(uint8_t *to, uint32_t number)
{
    for (; number >= 128; number /= 128)
        *to++ = (uint8_t)(128 + number % 128);
    *to++ = (uint8_t)number;
    return to;
}

int64_t fields_take_number(const uint8_t *from, size_t size)
{
    uint64_t number = from[size - 1] >= 128 ? UINT64_MAX : 0;
    while (size > 0)
        number = number * 256 + from[--size];
    return (int64_t)number;
}

size_t fields_interesting_numbers(uint64_t numbers[NUMBERS_MAX])
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

#include "wire/number.h"

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

bool number_parse(struct bytes text, int64_t *value)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t first = negative ? 1 : 0;
    *value = 0;
    if (text.size == first || text.size > NUMBER_MAX_BYTES)
        return false;
    if (text.data[first] == '0')
        return text.size == 1;
    /* Away from 0, on the side of the sign: the lowest number has no positive counterpart. */
    for (size_t i = first; i < text.size; i++) {
        int64_t digit = text.data[i] - '0';
        if (!is_digit(text.data[i]) || __builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, negative ? -digit : digit, value))
            return false;
    }
    return true;
}

size_t number_print(int64_t value, uint8_t to[NUMBER_MAX_BYTES])
{
    uint8_t digits[NUMBER_MAX_BYTES];
    size_t count = 0;
    size_t size = 0;
    /* Of the lowest number, too: -value would not fit into an int64_t. */
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        to[size++] = '-';
    while (count > 0)
        to[size++] = digits[--count];
    return size;
}

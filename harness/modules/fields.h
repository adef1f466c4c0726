/* The fields of a message as the protocol has them: by a second hand, to hold a module against. */
#ifndef GRADER_FIELDS_H
#define GRADER_FIELDS_H

#include <stddef.h>
#include <stdint.h>

enum { LEB128_BYTES = 5, NUMBERS_MAX = 512 };

/* Writes the lowest `size` bytes of a number, the lowest first. Returns the place after them. */
uint8_t *fields_put_number(uint8_t *to, size_t size, uint64_t number);

/* The same for a number in groups of 7 bits; it takes up to LEB128_BYTES. */
uint8_t *fields_put_leb128(uint8_t *to, uint32_t number);

/* The number in `size` bytes, the lowest first, as two's complement. */
int64_t fields_take_number(const uint8_t *from, size_t size);

/* Numbers round which mistakes are made: 0, each power of 2, what is next to them, some by chance;
 * and their negatives. Returns how many. */
size_t fields_interesting_numbers(uint64_t numbers[NUMBERS_MAX]);

#endif

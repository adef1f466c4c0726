/* Whole numbers as decimal text. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

#define NUMBER_MAX_BYTES 20 /* of "-9223372036854775808" */

/* Reads a number from all of the text. Each number has one form only: "+1", "01", "-0" and " 1" are
 * not numbers. False: it is not a number, or it does not fit. */
bool number_parse(struct bytes text, int64_t *value);

/* Writes a number at `to`. Returns how many bytes that are. */
size_t number_print(int64_t value, uint8_t to[NUMBER_MAX_BYTES]);

#endif

/* Patterns for names of keys, as in a shell. */
#ifndef GLOB_H
#define GLOB_H

#include <stdbool.h>

#include "wire/reader.h"

/* Says whether all of the text fits the pattern:
 *
 *     *         any bytes, also none
 *     ?         one byte
 *     [ab-d^]   one of these; [^...]: one byte that is not
 *     \         the byte after it, whatever that means otherwise
 *
 * The cost is at most the size of the pattern times that of the text. */
bool glob_match(struct bytes pattern, struct bytes text);

#endif

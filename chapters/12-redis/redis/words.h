/* The words of a line that a person has typed.
 *
 *     SET name "Ada Lovelace"\n      three words, the last one with a space
 *
 * Between double quotes \n \r \t \b \a stand for one byte, \x and two hexadecimal digits for any
 * byte, and \ before another byte for that byte. Between single quotes only \' does so. */
#ifndef WORDS_H
#define WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

enum words_result {
    WORDS_OK,  /* a word */
    WORDS_END, /* no further word */
    WORDS_BAD  /* a quote that is not closed, or is closed in the middle of a word */
};

/* Takes the word that begins at *at or later, and moves *at past it. The word replaces what was
 * typed, which is never shorter: so it is a part of the line, and no memory is needed. */
enum words_result words_next(uint8_t *line, size_t size, size_t *at, struct bytes *word);

#endif

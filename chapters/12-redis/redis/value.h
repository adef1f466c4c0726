/* What a key stands for: a string or a list. */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

enum value_type { VALUE_STRING, VALUE_LIST };

struct expiry;

/* What all values begin with. */
struct value {
    struct expiry *expiry; /* owned; NULL: it stays for ever. Only expiry.c writes this */
    enum value_type type;
};

struct string {
    struct value value;
    uint32_t size;
    uint32_t cap; /* bytes that there is memory for */
    uint8_t bytes[];
};

/* "string" or "list". */
const char *value_type_name(const struct value *value);

/* Frees a value of any type, and its expiry. For a long list see list_free(). */
void value_free(struct value *value);

/* A string with a copy of the text. NULL: no memory. */
struct string *string_new(struct bytes text);

/* Makes the text the content of a string, in the memory that it has: so the string stays near its
 * key, and in the caches. False, and nothing has changed: it is no string, or its memory is too
 * small, or much too large. */
bool string_overwrite(struct value *value, struct bytes text);

/* Its content, valid until it is changed. */
struct bytes string_bytes(const struct string *s);

/* A string with the text after that of `s`: it takes the place of `s`, which may have moved. NULL:
 * no memory, and `s` is as before. Appending costs O(1) a byte, however small the pieces are. */
struct string *string_append(struct string *s, struct bytes text);

#endif

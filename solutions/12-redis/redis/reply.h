/* Writes replies as Redis' clients read them (RESP, version 2).
 *
 *     +OK\r\n                          a status
 *     -ERR syntax error\r\n            an error; its first word is its kind
 *     :42\r\n                          a number
 *     $4\r\n Ada \r\n                  a string, with its length: any bytes
 *     $-1\r\n                          nil: there is no string
 *     *2\r\n $1\r\n a\r\n :7\r\n       an array: the number of its elements, then the elements
 *     *-1\r\n                          there is no array
 *
 * It writes at the tail of a buffer, which grows. If that is not possible, it remembers why: check
 * `failed` at the end. Then the reply is not complete, and the client cannot be told anything. */
#ifndef REPLY_H
#define REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wire/reader.h"

/* The buffer holds no more than this: one request can ask for much more than it sends itself. */
#define REPLY_MAX_BYTES (256u << 20)

/* The longest error. Longer ones are cut. */
#define REPLY_MAX_ERROR_BYTES 512

struct reply {
    struct buffer *out; /* borrowed */
    const char *failed; /* why it is not complete; NULL: it is */
};

void reply_status(struct reply *r, const char *text);

/* `format` is as in printf(), and begins with the kind: "ERR ". Line breaks that come from
 * the client would end the error: they become spaces, and at the end they are left out. */
__attribute__((format(printf, 2, 3))) void reply_error(struct reply *r, const char *format, ...);

void reply_number(struct reply *r, int64_t value);
void reply_string(struct reply *r, struct bytes text);
void reply_text(struct reply *r, const char *text); /* the same, for constants */
void reply_nil(struct reply *r);
void reply_no_array(struct reply *r);

/* Begins an array: write its elements next. */
void reply_array(struct reply *r, size_t count);

/* Appends replies that were written to another buffer. */
void reply_append(struct reply *r, const struct buffer *replies);

#endif

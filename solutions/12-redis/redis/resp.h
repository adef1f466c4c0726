/* Requests as Redis' clients send them (RESP, version 2), and where their arguments are.
 *
 *     *2\r\n $3\r\n GET\r\n $4\r\n name\r\n      without the spaces: 2 arguments, of 3 and 4 bytes
 *     GET name\r\n                               inline: the same, for people; see words.h
 *
 * A request arrives in pieces. The parser keeps what it has found between two calls, and looks at
 * no byte twice. It copies nothing: an argument is a place in the bytes that the caller keeps. The
 * places are counted from the first byte of the request, so the caller may move all of it.
 *
 * A count or a length is only what the client claims. No memory is taken for it: memory is needed
 * only for what has arrived. */
#ifndef RESP_H
#define RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

/* Limits. All arguments together may have twice the bytes of the largest one: else a client could
 * send a million large ones, and all of them have to wait for the last one. */
#define RESP_MAX_ARGUMENT_BYTES (32u << 20)
#define RESP_MAX_REQUEST_BYTES  (64u << 20)
#define RESP_MAX_ARGUMENTS      (1u << 20)
#define RESP_MAX_LINE_BYTES     (64u << 10) /* of an inline request, a count or a length */

/* Where an argument is: counted from the first byte of its request. */
struct place {
    uint32_t at;
    uint32_t size;
};

/* A complete request of `size` bytes. The first argument is the name of the command. */
struct request {
    const uint8_t *bytes;
    size_t size;
    const struct place *places;
    size_t count; /* 0: an empty request, which has no reply */
};

/* An argument, valid as long as the bytes of the request are. */
struct bytes request_arg(const struct request *request, size_t index);

/* What resp_parse() has found. */
enum resp_result {
    RESP_OK,       /* a complete request */
    RESP_PARTIAL,  /* the beginning of a request: call again with more bytes */
    RESP_BAD,      /* bytes that are no request; `error` says why */
    RESP_NO_MEMORY /* no memory for the places */
};

/* What comes next in a request.
 *
 *     FIRST ---> COUNT ---> LENGTH <---> BYTES ---> WHOLE
 *       |          +--- nothing follows ------------> ^
 *       +------> INLINE ----------------------------> ^
 */
enum resp_part { RESP_FIRST, RESP_COUNT, RESP_LENGTH, RESP_BYTES, RESP_INLINE, RESP_WHOLE };

/* A parser. All zero is one that waits for the first byte of a request, and owns no memory. */
struct resp {
    enum resp_part part;
    uint32_t left;        /* arguments still to come */
    uint32_t length;      /* of the argument whose bytes come next */
    size_t at;            /* where the next part begins */
    size_t seen;          /* the end of that part was looked for up to here */
    struct place *places; /* owned */
    size_t count;
    size_t cap;
    char error[32]; /* of RESP_BAD, in Redis' words */
};

/* Looks for a request at the head of `size` bytes. RESP_PARTIAL: the next call must have the same
 * bytes, and more of them. RESP_OK: *request is it. It is valid until the next call, which begins
 * with the byte after it. An inline request is changed: its words take the place of its quotes. */
enum resp_result resp_parse(struct resp *r, uint8_t *bytes, size_t size, struct request *request);

/* Frees the memory. The parser waits for the first byte of a request. */
void resp_free(struct resp *r);

/* Does so if no request has begun: then there is nothing to remember. */
void resp_trim(struct resp *r);

#endif

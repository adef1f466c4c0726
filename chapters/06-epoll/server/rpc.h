/* Typed messages: requests and their replies. docs/protocol.md has every field.
 *
 *     request    i32 cmd, i32 seq, fields
 *     reply      i32 cmd, i32 seq, i32 status, fields
 */
#ifndef RPC_H
#define RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum rpc_command { RPC_ECHO = 1, RPC_SUM = 2, RPC_STATS = 3 };

enum rpc_status {
    RPC_OK,
    RPC_UNKNOWN,      /* the command is unknown */
    RPC_MALFORMED,    /* the bytes are not the fields of this command */
    RPC_BAD_ARGUMENT, /* they are, but a value is not allowed */
    RPC_OVERFLOW      /* the result does not fit its field */
};

/* Counts over all connections since the start. */
struct stats {
    int64_t connections; /* open now */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies that the server has made */
};

/* Answers the request in `body`: writes the reply, as a frame, to the tail of `out`. False: no
 * memory; `out` has not changed. */
bool rpc_answer(const struct stats *stats, const uint8_t *body, size_t size, struct buffer *out);

#endif

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
#include "server/alarms.h"

enum rpc_command {
    RPC_ECHO = 1,
    RPC_SUM = 2,
    RPC_STATS = 3,
    RPC_AFTER = 10,
    RPC_EVERY = 11,
    RPC_CANCEL = 12,
    RPC_RESET = 13
};

enum rpc_status {
    RPC_OK,
    RPC_UNKNOWN,      /* the command is unknown */
    RPC_MALFORMED,    /* the bytes are not the fields of this command */
    RPC_BAD_ARGUMENT, /* they are, but a value is not allowed */
    RPC_OVERFLOW,     /* the result does not fit its field */
    RPC_CANCELLED,    /* the last reply of an alarm that was cancelled */
    RPC_NO_TIMER      /* no alarm has that seq */
};

/* Counts over all connections since the start. */
struct stats {
    int64_t connections; /* open now */
    int64_t received;    /* complete frames */
    int64_t sent;        /* replies that the server has made */
};

/* Answers the request in `body`: writes the reply, as a frame, to the tail of `out`, or adds an
 * alarm to the connection. False: no memory; `out` has not changed. */
bool rpc_answer(struct stats *stats, struct alarms *alarms, const uint8_t *body, size_t size,
                struct buffer *out);

/* Writes the reply of an alarm that has rung. False: no memory; `out` has not changed. */
bool rpc_ring(struct stats *stats, const struct alarm *alarm, struct buffer *out);

#endif

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
    RPC_RESET = 13,
    RPC_WHO = 20,
    RPC_BROADCAST = 21
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

struct conn;
struct stats;

/* Answers the request in `body`: writes the reply, as a frame, to the tail of the connection's
 * output, adds an alarm, or starts its broadcast. False: no memory; the output has not changed. */
bool rpc_answer(struct conn *c, const uint8_t *body, size_t size);

/* Writes the reply of an alarm that has rung. False: no memory; `out` has not changed. */
bool rpc_ring(struct stats *stats, const struct alarm *alarm, struct buffer *out);

/* Write the reply to a BROADCAST that has reached `reached` connections, and the message itself for
 * one of these. False: as above. */
bool rpc_broadcast_done(struct stats *stats, int32_t seq, int32_t reached, struct buffer *out);
bool rpc_push(struct stats *stats, struct bytes text, struct buffer *out);

#endif

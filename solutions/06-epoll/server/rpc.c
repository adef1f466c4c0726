#include "server/rpc.h"

#include "wire/frame.h"
#include "wire/reader.h"
#include "wire/writer.h"

/* Before the string of an ECHO reply: cmd, seq, status, and the length of the string, which takes 4
 * bytes if the string nearly fills the frame. */
enum { ECHO_REPLY_BYTES = 4 + 4 + 4 + 4 };

/* A request that is being answered. A command reads its fields, begins the reply and writes the
 * fields of the reply. If it cannot, it returns the status that says why and begins no reply. */
struct call {
    const struct stats *stats;
    int32_t cmd;
    int32_t seq;
    struct reader request;
    struct buffer *out;
    struct writer reply;
};

static void begin_reply(struct call *call, enum rpc_status status)
{
    writer_begin(&call->reply, call->out);
    writer_i32(&call->reply, call->cmd);
    writer_i32(&call->reply, call->seq);
    writer_i32(&call->reply, status);
}

static enum rpc_status echo(struct call *call)
{
    struct bytes text;
    if (!reader_string(&call->request, &text) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    if (text.size > FRAME_MAX_BYTES - ECHO_REPLY_BYTES)
        return RPC_BAD_ARGUMENT;
    begin_reply(call, RPC_OK);
    writer_string(&call->reply, text.data, (uint32_t)text.size);
    return RPC_OK;
}

// BEGIN sum
static enum rpc_status sum(struct call *call)
{
    int32_t count;
    int64_t total = 0;
    if (!reader_i32(&call->request, &count))
        return RPC_MALFORMED;
    if (count < 0)
        return RPC_BAD_ARGUMENT;
    bool overflow = false;
    for (int32_t i = 0; i < count; i++) {
        int64_t value;
        if (!reader_i64(&call->request, &value))
            return RPC_MALFORMED;
        /* A signed overflow is undefined in C: it cannot be detected afterwards. */
        overflow = __builtin_add_overflow(total, value, &total) || overflow;
    }
    if (!reader_at_end(&call->request))
        return RPC_MALFORMED;
    if (overflow)
        return RPC_OVERFLOW;
    begin_reply(call, RPC_OK);
    writer_i64(&call->reply, total);
    return RPC_OK;
}
// END sum

static enum rpc_status stats(struct call *call)
{
    if (!reader_at_end(&call->request))
        return RPC_MALFORMED;
    begin_reply(call, RPC_OK);
    writer_i64(&call->reply, call->stats->connections);
    writer_i64(&call->reply, call->stats->received);
    writer_i64(&call->reply, call->stats->sent);
    return RPC_OK;
}

static enum rpc_status run_command(struct call *call)
{
    if (!reader_i32(&call->request, &call->cmd) || !reader_i32(&call->request, &call->seq))
        return RPC_MALFORMED;
    switch (call->cmd) {
    case RPC_ECHO:
        return echo(call);
    case RPC_SUM:
        return sum(call);
    case RPC_STATS:
        return stats(call);
    default:
        return RPC_UNKNOWN;
    }
}

bool rpc_answer(const struct stats *stats, const uint8_t *body, size_t size, struct buffer *out)
{
    struct call call = {
        .stats = stats,
        .cmd = -1,
        .seq = -1,
        .request = {body, size},
        .out = out,
    };
    enum rpc_status status = run_command(&call);
    if (status != RPC_OK)
        begin_reply(&call, status);
    return writer_end(&call.reply);
}

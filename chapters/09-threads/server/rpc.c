#include "server/rpc.h"

#include "server/broadcast.h"
#include "server/conn.h"
#include "wire/frame.h"
#include "wire/reader.h"
#include "wire/writer.h"

/* Before the string of an ECHO reply or of a push: cmd, seq, status, and the length of the string,
 * which takes 4 bytes if the string nearly fills the frame. */
enum { ECHO_REPLY_BYTES = 4 + 4 + 4 + 4 };

/* A request that is being answered. A command reads its fields, begins the reply and writes the
 * fields of the reply. If it cannot, it returns the status that says why and begins no reply. */
struct call {
    struct conn *conn;
    int32_t cmd;
    int32_t seq;
    struct reader request;
    struct writer reply;
};

/* A command may return one of these instead of a status. */
enum {
    LATER = -1,    /* the reply comes later */
    NO_MEMORY = -2 /* no memory for the reply */
};

static void begin(struct writer *w, struct buffer *out, int32_t cmd, int32_t seq, int status)
{
    writer_begin(w, out);
    writer_i32(w, cmd);
    writer_i32(w, seq);
    writer_i32(w, status);
}

/* Ends a reply, and counts it. */
static bool end(struct writer *w, struct stats *stats)
{
    if (!writer_end(w))
        return false;
    stats_add(stats, (struct counts){.sent = 1});
    return true;
}

static void begin_reply(struct call *call, int status)
{
    begin(&call->reply, &call->conn->out, call->cmd, call->seq, status);
}

static int echo(struct call *call)
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

static int sum(struct call *call)
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

static int stats(struct call *call)
{
    if (!reader_at_end(&call->request))
        return RPC_MALFORMED;
    struct counts sum = server_counts(call->conn->worker->server);
    begin_reply(call, RPC_OK);
    writer_i64(&call->reply, sum.connections);
    writer_i64(&call->reply, sum.received);
    writer_i64(&call->reply, sum.sent);
    return RPC_OK;
}

/* An AFTER is an EVERY with one reply, which has no index. */
static int start_alarm(struct call *call)
{
    int32_t ms;
    int32_t count = 1;
    struct bytes text;
    bool every = call->cmd == RPC_EVERY;
    if (!reader_i32(&call->request, &ms) || (every && !reader_i32(&call->request, &count)) ||
        !reader_string(&call->request, &text) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    if (ms < (every ? 1 : 0) || count < 1)
        return RPC_BAD_ARGUMENT;
    if (alarms_find(call->conn->alarms, call->seq) != NULL ||
        !alarms_fit(call->conn->alarms, text.size))
        return RPC_BAD_ARGUMENT;
    if (alarms_add(call->conn->alarms, call->cmd, call->seq, ms, count, text) == NULL)
        return NO_MEMORY;
    return LATER;
}

/* Writes two replies: the last one of the alarm, and the one to CANCEL. */
static int cancel(struct call *call)
{
    int32_t seq;
    if (!reader_i32(&call->request, &seq) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    struct alarm *alarm = alarms_find(call->conn->alarms, seq);
    if (alarm == NULL)
        return RPC_NO_TIMER;
    struct writer last;
    begin(&last, &call->conn->out, alarm->cmd, alarm->seq, RPC_CANCELLED);
    alarms_remove(alarm);
    if (!end(&last, &call->conn->worker->stats))
        return NO_MEMORY;
    begin_reply(call, RPC_OK);
    return RPC_OK;
}

static int reset(struct call *call)
{
    int32_t seq;
    int32_t ms;
    int32_t from_now;
    if (!reader_i32(&call->request, &seq) || !reader_i32(&call->request, &ms) ||
        !reader_i32(&call->request, &from_now) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    struct alarm *alarm = alarms_find(call->conn->alarms, seq);
    if (alarm == NULL)
        return RPC_NO_TIMER;
    if (ms < (alarm->cmd == RPC_EVERY ? 1 : 0) || from_now < 0 || from_now > 1)
        return RPC_BAD_ARGUMENT;
    if (!alarms_reset(alarm, ms, from_now == 1))
        return NO_MEMORY;
    begin_reply(call, RPC_OK);
    return RPC_OK;
}

static int who(struct call *call)
{
    if (!reader_at_end(&call->request))
        return RPC_MALFORMED;
    begin_reply(call, RPC_OK);
    writer_i32(&call->reply, call->conn->worker->loop.index);
    return RPC_OK;
}

static int broadcast(struct call *call)
{
    struct bytes text;
    if (!reader_string(&call->request, &text) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    if (text.size > FRAME_MAX_BYTES - ECHO_REPLY_BYTES)
        return RPC_BAD_ARGUMENT;
    return broadcast_start(call->conn, call->seq, text) ? LATER : NO_MEMORY;
}

static int run_command(struct call *call)
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
    case RPC_AFTER:
    case RPC_EVERY:
        return start_alarm(call);
    case RPC_CANCEL:
        return cancel(call);
    case RPC_RESET:
        return reset(call);
    case RPC_WHO:
        return who(call);
    case RPC_BROADCAST:
        return broadcast(call);
    default:
        return RPC_UNKNOWN;
    }
}

bool rpc_answer(struct conn *c, const uint8_t *body, size_t size)
{
    struct call call = {.conn = c, .cmd = -1, .seq = -1, .request = {body, size}};
    int status = run_command(&call);
    if (status == LATER || status == NO_MEMORY)
        return status == LATER;
    if (status != RPC_OK)
        begin_reply(&call, status);
    return end(&call.reply, &c->worker->stats);
}

bool rpc_ring(struct stats *stats, const struct alarm *alarm, struct buffer *out)
{
    struct writer reply;
    begin(&reply, out, alarm->cmd, alarm->seq, RPC_OK);
    if (alarm->cmd == RPC_EVERY)
        writer_i32(&reply, alarm->index);
    writer_string(&reply, alarm->text, (uint32_t)alarm->size);
    return end(&reply, stats);
}

bool rpc_broadcast_done(struct stats *stats, int32_t seq, int32_t reached, struct buffer *out)
{
    struct writer reply;
    begin(&reply, out, RPC_BROADCAST, seq, RPC_OK);
    writer_i32(&reply, reached);
    return end(&reply, stats);
}

bool rpc_push(struct stats *stats, struct bytes text, struct buffer *out)
{
    struct writer push;
    begin(&push, out, RPC_BROADCAST, -1, RPC_OK);
    writer_string(&push, text.data, (uint32_t)text.size);
    return end(&push, stats);
}

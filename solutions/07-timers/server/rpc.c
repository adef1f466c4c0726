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
    struct stats *stats;
    struct alarms *alarms;
    int32_t cmd;
    int32_t seq;
    struct reader request;
    struct buffer *out;
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
    stats->sent++;
    return true;
}

static void begin_reply(struct call *call, int status)
{
    begin(&call->reply, call->out, call->cmd, call->seq, status);
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

// BEGIN sum
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
// END sum

static int stats(struct call *call)
{
    if (!reader_at_end(&call->request))
        return RPC_MALFORMED;
    begin_reply(call, RPC_OK);
    writer_i64(&call->reply, call->stats->connections);
    writer_i64(&call->reply, call->stats->received);
    writer_i64(&call->reply, call->stats->sent);
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
    if (alarms_find(call->alarms, call->seq) != NULL || !alarms_fit(call->alarms, text.size))
        return RPC_BAD_ARGUMENT;
    if (alarms_add(call->alarms, call->cmd, call->seq, ms, count, text) == NULL)
        return NO_MEMORY;
    return LATER;
}

/* Writes two replies: the last one of the alarm, and the one to CANCEL. */
static int cancel(struct call *call)
{
    int32_t seq;
    if (!reader_i32(&call->request, &seq) || !reader_at_end(&call->request))
        return RPC_MALFORMED;
    struct alarm *alarm = alarms_find(call->alarms, seq);
    if (alarm == NULL)
        return RPC_NO_TIMER;
    struct writer last;
    begin(&last, call->out, alarm->cmd, alarm->seq, RPC_CANCELLED);
    alarms_remove(alarm);
    if (!end(&last, call->stats))
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
    struct alarm *alarm = alarms_find(call->alarms, seq);
    if (alarm == NULL)
        return RPC_NO_TIMER;
    if (ms < (alarm->cmd == RPC_EVERY ? 1 : 0) || from_now < 0 || from_now > 1)
        return RPC_BAD_ARGUMENT;
    if (!alarms_reset(alarm, ms, from_now == 1))
        return NO_MEMORY;
    begin_reply(call, RPC_OK);
    return RPC_OK;
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
    default:
        return RPC_UNKNOWN;
    }
}

bool rpc_answer(struct stats *stats, struct alarms *alarms, const uint8_t *body, size_t size,
                struct buffer *out)
{
    struct call call = {
        .stats = stats,
        .alarms = alarms,
        .cmd = -1,
        .seq = -1,
        .request = {body, size},
        .out = out,
    };
    int status = run_command(&call);
    if (status == LATER || status == NO_MEMORY)
        return status == LATER;
    if (status != RPC_OK)
        begin_reply(&call, status);
    return end(&call.reply, stats);
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

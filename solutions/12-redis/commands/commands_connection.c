/* Commands that are about the connection itself. */

#include "commands/call.h"
#include "commands/commands.h"
#include "server/conn.h"
#include "wire/number.h"

void command_ping(struct call *call)
{
    size_t count = call->request->count;
    bool subscribed = subscriptions_count(&call->client->subscriptions) > 0;
    if (count > 2) {
        call_arity_error(call);
        return;
    }
    if (subscribed) {
        reply_array(call->reply, 2); /* as messages are arrays, too */
        reply_text(call->reply, "pong");
    }
    if (count == 2)
        reply_string(call->reply, call_arg(call, 1));
    else if (subscribed)
        reply_text(call->reply, "");
    else
        reply_status(call->reply, "PONG");
}

void command_echo(struct call *call)
{
    reply_string(call->reply, call_arg(call, 1));
}

void command_quit(struct call *call)
{
    call_ok(call);
    conn_end(call->client->conn, CONN_GIVEN_UP, "client quits");
}

void command_select(struct call *call)
{
    int64_t number;
    if (!call_number(call, 1, &number))
        return;
    if (number < INT32_MIN || number > INT32_MAX) {
        reply_error(call->reply, "ERR value is out of range, value must between %d and %d",
                    INT32_MIN, INT32_MAX);
    } else if (number < 0 || number >= REDIS_DBS) {
        reply_error(call->reply, "ERR DB index is out of range");
    } else {
        call->client->db = &call->client->redis->dbs[number];
        call_ok(call);
    }
}

/* Checks the version of the protocol that the client wants to speak. There is one only. */
static bool check_version(const struct call *call)
{
    int64_t version;
    if (!number_parse(call_arg(call, 1), &version)) {
        reply_error(call->reply, "ERR Protocol version is not an integer or out of range");
        return false;
    }
    if (version != 2)
        reply_error(call->reply, "NOPROTO unsupported protocol version");
    return version == 2;
}

/* Does what the options of HELLO say: there is only SETNAME. */
static bool take_options(const struct call *call)
{
    for (size_t i = 2; i < call->request->count; i += 2) {
        struct bytes option = call_arg(call, i);
        if (!call_is(call, i, "setname") || i + 1 == call->request->count) {
            reply_error(call->reply, "ERR Syntax error in HELLO option '%.*s'", (int)option.size,
                        (const char *)option.data);
            return false;
        }
        if (!call_set_name(call, i + 1))
            return false;
    }
    return true;
}

/* What this server is. */
static void introduce(const struct call *call)
{
    reply_array(call->reply, 14);
    reply_text(call->reply, "server");
    reply_text(call->reply, "redis");
    reply_text(call->reply, "version");
    reply_text(call->reply, REDIS_VERSION);
    reply_text(call->reply, "proto");
    reply_number(call->reply, 2);
    reply_text(call->reply, "id");
    reply_number(call->reply, call->client->id);
    reply_text(call->reply, "mode");
    reply_text(call->reply, "standalone");
    reply_text(call->reply, "role");
    reply_text(call->reply, "master");
    reply_text(call->reply, "modules");
    reply_array(call->reply, 0);
}

void command_hello(struct call *call)
{
    if (call->request->count > 1 && !check_version(call))
        return;
    if (take_options(call))
        introduce(call);
}

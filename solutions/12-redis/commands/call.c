#include "commands/call.h"

#include <string.h>
#include <strings.h>

#include "commands/commands.h"
#include "wire/number.h"

struct bytes call_arg(const struct call *call, size_t index)
{
    return request_arg(call->request, index);
}

bool call_is(const struct call *call, size_t index, const char *word)
{
    struct bytes arg = call_arg(call, index);
    return arg.size == strlen(word) && strncasecmp((const char *)arg.data, word, arg.size) == 0;
}

bool call_number(const struct call *call, size_t index, int64_t *value)
{
    if (number_parse(call_arg(call, index), value))
        return true;
    reply_error(call->reply, "ERR value is not an integer or out of range");
    return false;
}

bool call_find(const struct call *call, struct bytes name, enum value_type type, struct entry **key)
{
    *key = db_find(call->client->db, name);
    if (*key == NULL || ((struct value *)(*key)->value)->type == type)
        return true;
    reply_error(call->reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
    return false;
}

void call_syntax_error(const struct call *call)
{
    reply_error(call->reply, "ERR syntax error");
}

void call_arity_error(const struct call *call)
{
    reply_error(call->reply, "ERR wrong number of arguments for '%s' command", call->command->name);
}

bool call_set_name(const struct call *call, size_t index)
{
    struct bytes name = call_arg(call, index);
    if (!client_may_be_named(name)) {
        reply_error(call->reply, "ERR Client names cannot contain spaces, newlines or special "
                                 "characters.");
        return false;
    }
    if (name.size > CLIENT_MAX_NAME_BYTES) {
        reply_error(call->reply, "ERR Client names cannot be longer than %d bytes.",
                    CLIENT_MAX_NAME_BYTES);
        return false;
    }
    if (!client_set_name(call->client, name)) {
        call_no_memory(call);
        return false;
    }
    return true;
}

void call_no_memory(const struct call *call)
{
    call->reply->failed = "out of memory";
}

void call_ok(const struct call *call)
{
    reply_status(call->reply, "OK");
}

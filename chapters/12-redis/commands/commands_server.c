/* Commands that are about the server as a whole. */

#include <string.h>
#include <time.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/glob.h"
#include "wire/number.h"

/* Clients can do without a description of the commands. */
void command_command(struct call *call)
{
    reply_array(call->reply, 0);
}

void command_command_count(struct call *call)
{
    reply_number(call->reply, (int64_t)commands_count());
}

/* Settings that clients ask for. They cannot be changed. */
static const struct setting {
    const char *name;
    const char *value;
} settings[] = {
    {"appendonly", "no"}, {"databases", "16"},
    {"maxmemory", "0"},   {"proto-max-bulk-len", "33554432"},
    {"save", ""},
};

enum { SETTINGS = sizeof settings / sizeof *settings };

/* Whether one of the patterns fits the name of a setting. */
static bool is_wanted(const struct call *call, const struct setting *setting)
{
    struct bytes name = {(const uint8_t *)setting->name, strlen(setting->name)};
    for (size_t i = 2; i < call->request->count; i++)
        if (glob_match(call_arg(call, i), name))
            return true;
    return false;
}

void command_config_get(struct call *call)
{
    size_t count = 0;
    for (int i = 0; i < SETTINGS; i++)
        count += is_wanted(call, &settings[i]);
    reply_array(call->reply, 2 * count);
    for (int i = 0; i < SETTINGS; i++) {
        if (!is_wanted(call, &settings[i]))
            continue;
        reply_text(call->reply, settings[i].name);
        reply_text(call->reply, settings[i].value);
    }
}

void command_config_set(struct call *call)
{
    struct bytes name = call_arg(call, 2);
    if (call->request->count % 2 != 0) {
        call_syntax_error(call);
        return;
    }
    for (int i = 0; i < SETTINGS; i++) {
        if (call_is(call, 2, settings[i].name)) {
            reply_error(call->reply,
                        "ERR CONFIG SET failed (possibly related to argument '%s') - "
                        "can't set immutable config",
                        settings[i].name);
            return;
        }
    }
    reply_error(call->reply, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                (int)name.size, (const char *)name.data);
}

void command_config_resetstat(struct call *call)
{
    call->client->redis->commands = 0;
    call_ok(call);
}

/* Writes a number as a string. */
static void write_digits(const struct call *call, int64_t number)
{
    uint8_t digits[NUMBER_MAX_BYTES];
    reply_string(call->reply, (struct bytes){digits, number_print(number, digits)});
}

void command_time(struct call *call)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    reply_array(call->reply, 2);
    write_digits(call, now.tv_sec);
    write_digits(call, now.tv_nsec / 1000);
}

void command_dbsize(struct call *call)
{
    reply_number(call->reply, (int64_t)dict_count(&call->client->db->keys));
}

/* Checks the option of FLUSHDB and FLUSHALL. Both are always done at once. */
static bool may_flush(const struct call *call)
{
    size_t count = call->request->count;
    if (count == 1 || (count == 2 && (call_is(call, 1, "sync") || call_is(call, 1, "async"))))
        return true;
    call_syntax_error(call);
    return false;
}

void command_flushdb(struct call *call)
{
    if (!may_flush(call))
        return;
    db_clear(call->client->db);
    call_ok(call);
}

void command_flushall(struct call *call)
{
    if (!may_flush(call))
        return;
    for (int i = 0; i < REDIS_DBS; i++)
        db_clear(&call->client->redis->dbs[i]);
    call_ok(call);
}

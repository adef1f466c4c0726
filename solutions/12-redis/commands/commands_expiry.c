/* Commands that say, or ask, when a key ends. */

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"

/* Conditions of EXPIRE and its relatives. */
enum {
    IF_NONE = 1,    /* NX: the key would stay for ever */
    IF_ANY = 2,     /* XX: it would end */
    IF_LATER = 4,   /* GT: the new time is later */
    IF_EARLIER = 8, /* LT: the new time is earlier */
};

/* Reads the conditions. */
static bool take_conditions(const struct call *call, unsigned *conditions)
{
    *conditions = 0;
    for (size_t i = 3; i < call->request->count; i++) {
        struct bytes option = call_arg(call, i);
        if (call_is(call, i, "nx"))
            *conditions |= IF_NONE;
        else if (call_is(call, i, "xx"))
            *conditions |= IF_ANY;
        else if (call_is(call, i, "gt"))
            *conditions |= IF_LATER;
        else if (call_is(call, i, "lt"))
            *conditions |= IF_EARLIER;
        else {
            reply_error(call->reply, "ERR Unsupported option %.*s", (int)option.size,
                        (const char *)option.data);
            return false;
        }
    }
    if ((*conditions & IF_NONE) && *conditions != IF_NONE) {
        reply_error(call->reply, "ERR NX and XX, GT or LT options at the same time are not "
                                 "compatible");
        return false;
    }
    if ((*conditions & IF_LATER) && (*conditions & IF_EARLIER)) {
        reply_error(call->reply, "ERR GT and LT options at the same time are not compatible");
        return false;
    }
    return true;
}

/* Reads the time: argument 2, in units of `unit_ms`, counted from `since`. */
static bool take_time(const struct call *call, int64_t unit_ms, int64_t since, int64_t *at_ms)
{
    if (!call_number(call, 2, at_ms))
        return false;
    if (!__builtin_mul_overflow(*at_ms, unit_ms, at_ms) &&
        !__builtin_add_overflow(*at_ms, since, at_ms))
        return true;
    reply_error(call->reply, "ERR invalid expire time in '%s' command", call->command->name);
    return false;
}

/* Whether a key that ends at `now_ms`, or never, may end at `at_ms` instead. */
static bool is_met(unsigned conditions, int64_t now_ms, int64_t at_ms)
{
    bool ends = now_ms != EXPIRY_NEVER;
    if ((conditions & IF_NONE) && ends)
        return false;
    if ((conditions & IF_ANY) && !ends)
        return false;
    if ((conditions & IF_LATER) && (!ends || at_ms <= now_ms))
        return false;
    return !(conditions & IF_EARLIER) || !ends || at_ms < now_ms;
}

static void expire(struct call *call, int64_t unit_ms, int64_t since)
{
    unsigned conditions;
    int64_t at_ms;
    if (!take_conditions(call, &conditions) || !take_time(call, unit_ms, since, &at_ms))
        return;
    struct db *db = call->client->db;
    struct entry *key = db_find(db, call_arg(call, 1));
    if (key == NULL || !is_met(conditions, expiry_at(key->value), at_ms)) {
        reply_number(call->reply, 0);
        return;
    }
    if (at_ms <= expiry_now())
        db_remove_key(db, key);
    else if (expiry_set(db, key, at_ms))
        db_changed(db, key);
    else
        call_no_memory(call);
    reply_number(call->reply, 1);
}

void command_expire(struct call *call)
{
    expire(call, 1000, expiry_now());
}

void command_pexpire(struct call *call)
{
    expire(call, 1, expiry_now());
}

void command_expireat(struct call *call)
{
    expire(call, 1000, 0);
}

void command_pexpireat(struct call *call)
{
    expire(call, 1, 0);
}

/* Writes how many milliseconds the key has left, in units of `unit_ms`. */
static void write_left(struct call *call, int64_t unit_ms)
{
    const struct entry *key = db_find(call->client->db, call_arg(call, 1));
    if (key == NULL) {
        reply_number(call->reply, -2);
        return;
    }
    int64_t at_ms = expiry_at(key->value);
    if (at_ms == EXPIRY_NEVER) {
        reply_number(call->reply, -1);
        return;
    }
    int64_t left_ms = at_ms - expiry_now();
    if (left_ms < 0)
        left_ms = 0;
    reply_number(call->reply, (left_ms + unit_ms / 2) / unit_ms);
}

void command_ttl(struct call *call)
{
    write_left(call, 1000);
}

void command_pttl(struct call *call)
{
    write_left(call, 1);
}

void command_persist(struct call *call)
{
    struct db *db = call->client->db;
    struct entry *key = db_find(db, call_arg(call, 1));
    bool stays = key != NULL && expiry_clear(key->value);
    if (stays)
        db_changed(db, key);
    reply_number(call->reply, stays);
}

/* SET and its options, and commands that are SET with one of them. */

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"

/* How the time of an option is meant. */
struct unit {
    const char *word;
    int64_t ms;
    bool from_now;
};

enum { EX, PX, EXAT, PXAT, UNITS };

static const struct unit units[UNITS] = {
    [EX] = {"ex", 1000, true},
    [PX] = {"px", 1, true},
    [EXAT] = {"exat", 1000, false},
    [PXAT] = {"pxat", 1, false},
};

struct options {
    size_t text;             /* the index of the argument with the string */
    bool if_new;             /* NX */
    bool if_there;           /* XX */
    bool get;                /* GET: the reply is the string before */
    bool keep_expiry;        /* KEEPTTL */
    const struct unit *unit; /* NULL: the key stays for ever */
    size_t time;             /* the index of the argument with the time */
};

static const struct unit *find_unit(const struct call *call, size_t index)
{
    for (int i = 0; i < UNITS; i++)
        if (call_is(call, index, units[i].word))
            return &units[i];
    return NULL;
}

/* Takes the option at *index, which has no time. False: it is none, or does not go with another. */
static bool take_flag(const struct call *call, size_t index, struct options *options)
{
    if (call_is(call, index, "nx") && !options->if_there)
        options->if_new = true;
    else if (call_is(call, index, "xx") && !options->if_new)
        options->if_there = true;
    else if (call_is(call, index, "get"))
        options->get = true;
    else if (call_is(call, index, "keepttl") && options->unit == NULL)
        options->keep_expiry = true;
    else
        return false;
    return true;
}

static bool take_options(const struct call *call, struct options *options)
{
    *options = (struct options){.text = 2};
    for (size_t i = 3; i < call->request->count; i++) {
        if (take_flag(call, i, options))
            continue;
        const struct unit *unit = find_unit(call, i);
        bool fits = unit != NULL && !options->keep_expiry &&
                    (options->unit == NULL || options->unit == unit);
        if (!fits || i + 1 == call->request->count) {
            call_syntax_error(call);
            return false;
        }
        options->unit = unit;
        options->time = ++i;
    }
    return true;
}

/* Reads the time when the key is to end. */
static bool take_time(const struct call *call, const struct options *options, int64_t *at_ms)
{
    if (options->unit == NULL)
        return true;
    if (!call_number(call, options->time, at_ms))
        return false;
    int64_t since = options->unit->from_now ? expiry_now() : 0;
    if (*at_ms > 0 && !__builtin_mul_overflow(*at_ms, options->unit->ms, at_ms) &&
        !__builtin_add_overflow(*at_ms, since, at_ms))
        return true;
    reply_error(call->reply, "ERR invalid expire time in '%s' command", call->command->name);
    return false;
}

/* Writes the string of a key, as GET does. */
static bool write_old(const struct call *call)
{
    struct entry *key;
    if (!call_find(call, call_arg(call, 1), VALUE_STRING, &key))
        return false;
    if (key != NULL)
        reply_string(call->reply, string_bytes(key->value));
    else
        reply_nil(call->reply);
    return true;
}

/* Puts the text in the place of the string that the key has, if it fits there. */
static bool overwrite(struct db *db, struct entry *key, const struct options *options,
                      struct bytes text)
{
    if (key == NULL || !string_overwrite(key->value, text))
        return false;
    if (!options->keep_expiry)
        expiry_clear(key->value);
    db_changed(db, key);
    return true;
}

/* Sets the key, which is NULL if it is not there. False: no memory. */
static bool set(const struct call *call, struct entry *key, const struct options *options,
                int64_t at_ms)
{
    struct db *db = call->client->db;
    struct bytes text = call_arg(call, options->text);
    if (!overwrite(db, key, options, text)) {
        struct string *string = string_new(text);
        if (string == NULL)
            return false;
        if (options->keep_expiry && key != NULL) {
            db_replace(db, key, &string->value);
            return true;
        }
        key = db_put(db, call_arg(call, 1), &string->value);
    }
    return key != NULL && (options->unit == NULL || expiry_set(db, key, at_ms));
}

void command_set(struct call *call)
{
    struct options options;
    int64_t at_ms = 0;
    if (!take_options(call, &options) || !take_time(call, &options, &at_ms))
        return;
    if (options.get && !write_old(call))
        return;
    struct entry *key = db_find(call->client->db, call_arg(call, 1));
    if ((options.if_new && key != NULL) || (options.if_there && key == NULL)) {
        if (!options.get)
            reply_nil(call->reply);
        return;
    }
    if (!set(call, key, &options, at_ms))
        call_no_memory(call);
    else if (!options.get)
        call_ok(call);
}

void command_setnx(struct call *call)
{
    struct options options = {.text = 2};
    bool is_new = db_find(call->client->db, call_arg(call, 1)) == NULL;
    if (is_new && !set(call, NULL, &options, 0))
        call_no_memory(call);
    reply_number(call->reply, is_new);
}

/* SETEX key time text, and PSETEX. */
static void set_for(struct call *call, const struct unit *unit)
{
    struct options options = {.text = 3, .unit = unit, .time = 2};
    int64_t at_ms;
    if (!take_time(call, &options, &at_ms))
        return;
    struct entry *key = db_find(call->client->db, call_arg(call, 1));
    if (set(call, key, &options, at_ms))
        call_ok(call);
    else
        call_no_memory(call);
}

void command_setex(struct call *call)
{
    set_for(call, &units[EX]);
}

void command_psetex(struct call *call)
{
    set_for(call, &units[PX]);
}

/* SET and its options. */

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"

/* How the time of an option is meant. */
struct unit {
    const char *word;
    int64_t ms;
    bool from_now;
};

static const struct unit units[] = {
    {"ex", 1000, true},
    {"px", 1, true},
    {"exat", 1000, false},
    {"pxat", 1, false},
};

enum { UNITS = sizeof units / sizeof *units };

struct options {
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
    *options = (struct options){0};
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
    reply_error(call->reply, "ERR invalid expire time in 'set' command");
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
static bool overwrite(struct entry *key, const struct options *options, struct bytes text)
{
    if (key == NULL || !string_overwrite(key->value, text))
        return false;
    if (!options->keep_expiry)
        expiry_clear(key->value);
    return true;
}

/* Sets the key, which is NULL if it is not there. False: no memory. */
static bool set(const struct call *call, struct entry *key, const struct options *options,
                int64_t at_ms)
{
    struct db *db = call->client->db;
    if (!overwrite(key, options, call_arg(call, 2))) {
        struct string *string = string_new(call_arg(call, 2));
        if (string == NULL)
            return false;
        if (options->keep_expiry && key != NULL) {
            db_replace(key, &string->value);
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

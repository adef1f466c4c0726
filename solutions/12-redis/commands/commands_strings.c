/* Commands for keys with strings. */

#include "commands/call.h"
#include "commands/commands.h"
#include "wire/number.h"

/* Writes the string of argument 1, or nil. *key: NULL if there is none. */
static bool get(const struct call *call, struct entry **key)
{
    if (!call_find(call, call_arg(call, 1), VALUE_STRING, key))
        return false;
    if (*key != NULL)
        reply_string(call->reply, string_bytes((*key)->value));
    else
        reply_nil(call->reply);
    return true;
}

/* Gives a key a string, and lets it stay for ever. False: no memory. */
static bool put(const struct call *call, struct bytes name, struct bytes text)
{
    struct string *string = string_new(text);
    return string != NULL && db_put(call->client->db, name, &string->value) != NULL;
}

void command_get(struct call *call)
{
    struct entry *key;
    get(call, &key);
}

void command_getset(struct call *call)
{
    struct entry *key;
    if (get(call, &key) && !put(call, call_arg(call, 1), call_arg(call, 2)))
        call_no_memory(call);
}

void command_getdel(struct call *call)
{
    struct entry *key;
    if (get(call, &key) && key != NULL)
        db_remove_key(call->client->db, key);
}

void command_mget(struct call *call)
{
    reply_array(call->reply, call->request->count - 1);
    for (size_t i = 1; i < call->request->count; i++) {
        const struct value *value = db_value(call->client->db, call_arg(call, i));
        if (value != NULL && value->type == VALUE_STRING)
            reply_string(call->reply, string_bytes((const struct string *)value));
        else
            reply_nil(call->reply);
    }
}

void command_mset(struct call *call)
{
    if (call->request->count % 2 == 0) {
        call_arity_error(call);
        return;
    }
    for (size_t i = 1; i < call->request->count; i += 2) {
        if (!put(call, call_arg(call, i), call_arg(call, i + 1))) {
            call_no_memory(call);
            return;
        }
    }
    call_ok(call);
}

/* Turns two indexes from the client into those of the first and the last byte between them. As in
 * Redis, an index before the first byte means the first byte. False: there are none. */
static bool take_range(struct bytes text, int64_t *first, int64_t *last)
{
    int64_t size = (int64_t)text.size;
    if (*first < 0 && *last < 0 && *first > *last)
        return false;
    if (*first < 0)
        *first = *first + size < 0 ? 0 : *first + size;
    if (*last < 0)
        *last = *last + size < 0 ? 0 : *last + size;
    if (*last >= size)
        *last = size - 1;
    return *first <= *last;
}

void command_getrange(struct call *call)
{
    struct entry *key;
    int64_t first;
    int64_t last;
    if (!call_number(call, 2, &first) || !call_number(call, 3, &last) ||
        !call_find(call, call_arg(call, 1), VALUE_STRING, &key))
        return;
    struct bytes text = {0};
    if (key != NULL)
        text = string_bytes(key->value);
    if (take_range(text, &first, &last))
        text = (struct bytes){text.data + first, (size_t)(last - first + 1)};
    else
        text.size = 0;
    reply_string(call->reply, text);
}

/* Adds to the number of a key, which is a string of digits. A key without a value is 0. */
static void add(struct call *call, int64_t amount)
{
    struct entry *key;
    int64_t number = 0;
    if (!call_find(call, call_arg(call, 1), VALUE_STRING, &key))
        return;
    if (key != NULL && !number_parse(string_bytes(key->value), &number)) {
        reply_error(call->reply, "ERR value is not an integer or out of range");
        return;
    }
    if (__builtin_add_overflow(number, amount, &number)) {
        reply_error(call->reply, "ERR increment or decrement would overflow");
        return;
    }
    uint8_t digits[NUMBER_MAX_BYTES];
    struct string *string = string_new((struct bytes){digits, number_print(number, digits)});
    if (string == NULL)
        call_no_memory(call);
    else if (key != NULL)
        db_replace(call->client->db, key, &string->value);
    else if (db_put(call->client->db, call_arg(call, 1), &string->value) == NULL)
        call_no_memory(call);
    reply_number(call->reply, number);
}

void command_incr(struct call *call)
{
    add(call, 1);
}

void command_decr(struct call *call)
{
    add(call, -1);
}

void command_incrby(struct call *call)
{
    int64_t amount;
    if (call_number(call, 2, &amount))
        add(call, amount);
}

void command_decrby(struct call *call)
{
    int64_t amount;
    if (!call_number(call, 2, &amount))
        return;
    if (amount == INT64_MIN) /* it has no positive counterpart */
        reply_error(call->reply, "ERR decrement would overflow");
    else
        add(call, -amount);
}

/* Appends to the string of a key. False: no memory. */
static bool append(struct db *db, struct entry *key, struct bytes text)
{
    struct string *string = string_append(key->value, text);
    if (string == NULL)
        return false;
    key->value = string;
    db_changed(db, key);
    return true;
}

void command_append(struct call *call)
{
    struct entry *key;
    struct bytes text = call_arg(call, 2);
    if (!call_find(call, call_arg(call, 1), VALUE_STRING, &key))
        return;
    size_t size = text.size + (key != NULL ? string_bytes(key->value).size : 0);
    if (size > RESP_MAX_ARGUMENT_BYTES) {
        reply_error(call->reply, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
        return;
    }
    bool done =
        key != NULL ? append(call->client->db, key, text) : put(call, call_arg(call, 1), text);
    if (!done)
        call_no_memory(call);
    reply_number(call->reply, (int64_t)size);
}

void command_strlen(struct call *call)
{
    struct entry *key;
    if (!call_find(call, call_arg(call, 1), VALUE_STRING, &key))
        return;
    reply_number(call->reply, key != NULL ? (int64_t)string_bytes(key->value).size : 0);
}

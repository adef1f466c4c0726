/* Commands for keys with lists. A list that becomes empty is removed together with its key. */

#include <stdlib.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/list.h"
#include "wire/number.h"

/* Adds the arguments from the second one on. False: no memory. */
static bool push_all(const struct call *call, struct list *list, enum list_end end)
{
    for (size_t i = 2; i < call->request->count; i++)
        if (!list_push(list, end, call_arg(call, i)))
            return false;
    return true;
}

/* Makes a key with a list of the arguments. Returns the list, or NULL: no memory. */
static struct list *push_new(const struct call *call, enum list_end end)
{
    struct list *list = list_new();
    if (list == NULL)
        return NULL;
    if (!push_all(call, list, end)) {
        value_free(&list->value);
        return NULL;
    }
    return db_put(call->client->db, call_arg(call, 1), &list->value) != NULL ? list : NULL;
}

static void push(struct call *call, enum list_end end)
{
    struct entry *key;
    struct list *list;
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key == NULL)
        list = push_new(call, end);
    else
        list = push_all(call, key->value, end) ? key->value : NULL;
    if (list == NULL)
        call_no_memory(call);
    else
        reply_number(call->reply, (int64_t)list->count);
}

void command_lpush(struct call *call)
{
    push(call, LIST_LEFT);
}

void command_rpush(struct call *call)
{
    push(call, LIST_RIGHT);
}

/* Takes one item out of a list, and writes it. */
static void pop_one(const struct call *call, struct list *list, enum list_end end)
{
    struct item *item = list_pop(list, end);
    reply_string(call->reply, item_bytes(item));
    free(item);
}

/* Reads the number of items that are wanted. */
static bool take_count(const struct call *call, int64_t *count)
{
    if (number_parse(call_arg(call, 2), count) && *count >= 0)
        return true;
    reply_error(call->reply, "ERR value is out of range, must be positive");
    return false;
}

/* LPOP key is answered with an item, LPOP key count with an array. */
static void pop(struct call *call, enum list_end end)
{
    struct entry *key;
    int64_t wanted = 1;
    bool many = call->request->count == 3;
    if (call->request->count > 3) {
        call_arity_error(call);
        return;
    }
    if (many && !take_count(call, &wanted))
        return;
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key == NULL) {
        if (many)
            reply_no_array(call->reply);
        else
            reply_nil(call->reply);
        return;
    }
    struct list *list = key->value;
    size_t count = (size_t)wanted < list->count ? (size_t)wanted : list->count;
    if (many)
        reply_array(call->reply, count);
    for (size_t i = 0; i < count; i++)
        pop_one(call, list, end);
    if (list->count == 0)
        db_remove_key(call->client->db, key);
}

void command_lpop(struct call *call)
{
    pop(call, LIST_LEFT);
}

void command_rpop(struct call *call)
{
    pop(call, LIST_RIGHT);
}

/* An index from the client: negative ones are counted from the end of the list. */
static int64_t index_in(const struct list *list, int64_t index)
{
    return index < 0 ? index + (int64_t)list->count : index;
}

void command_lrange(struct call *call)
{
    struct entry *key;
    int64_t first;
    int64_t last;
    if (!call_number(call, 2, &first) || !call_number(call, 3, &last) ||
        !call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key == NULL) {
        reply_array(call->reply, 0);
        return;
    }
    const struct list *list = key->value;
    first = index_in(list, first);
    last = index_in(list, last);
    if (first < 0)
        first = 0;
    if (last >= (int64_t)list->count)
        last = (int64_t)list->count - 1;
    if (first > last) {
        reply_array(call->reply, 0);
        return;
    }
    reply_array(call->reply, (size_t)(last - first + 1));
    const struct item *item = list_at(list, (size_t)first);
    for (; first <= last; first++, item = TAILQ_NEXT(item, others))
        reply_string(call->reply, item_bytes(item));
}

void command_llen(struct call *call)
{
    struct entry *key;
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    const struct list *list = key != NULL ? key->value : NULL;
    reply_number(call->reply, list != NULL ? (int64_t)list->count : 0);
}

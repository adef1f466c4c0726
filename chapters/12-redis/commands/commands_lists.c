/* Commands for keys with lists. A list that becomes empty is removed together with its key. */

#include <stdlib.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/list.h"
#include "wire/number.h"

/* Adds the arguments from the second one on. False: no memory; nothing has changed. */
static bool push_all(const struct call *call, struct list *list, enum list_end end)
{
    for (size_t i = 2; i < call->request->count; i++) {
        if (list_push(list, end, call_arg(call, i)))
            continue;
        while (i-- > 2)
            free(list_pop(list, end));
        return false;
    }
    return true;
}

/* Adds the arguments to the list of a key. Returns the list, or NULL: no memory. */
static struct list *push_more(const struct call *call, const struct entry *key, enum list_end end)
{
    if (!push_all(call, key->value, end))
        return NULL;
    db_changed(call->client->db, key);
    return key->value;
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
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    const struct list *list = key != NULL ? push_more(call, key, end) : push_new(call, end);
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

/* Items of the list of this key were taken out. */
static void items_were_taken(const struct call *call, struct entry *key)
{
    const struct list *list = key->value;
    if (list->count == 0)
        db_remove_key(call->client->db, key);
    else
        db_changed(call->client->db, key);
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
    if (count > 0)
        items_were_taken(call, key);
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

/* Turns two indexes from the client into those of the first and the last item between them. False:
 * there are none. */
static bool take_range(const struct list *list, int64_t *first, int64_t *last)
{
    *first = index_in(list, *first);
    *last = index_in(list, *last);
    if (*first < 0)
        *first = 0;
    if (*last >= (int64_t)list->count)
        *last = (int64_t)list->count - 1;
    return *first <= *last;
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
    if (!take_range(list, &first, &last)) {
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

/* The item at the index in argument 2, which counts from the other end if it is negative. True with
 * NULL as *item: the list has no such index. False: the error is written. */
static bool find_item(const struct call *call, const struct list *list, struct item **item)
{
    int64_t index;
    if (!call_number(call, 2, &index))
        return false;
    index = index_in(list, index);
    bool is_there = index >= 0 && index < (int64_t)list->count;
    *item = is_there ? list_at(list, (size_t)index) : NULL;
    return true;
}

void command_lindex(struct call *call)
{
    struct entry *key;
    struct item *item = NULL;
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key != NULL && !find_item(call, key->value, &item))
        return;
    if (item != NULL)
        reply_string(call->reply, item_bytes(item));
    else
        reply_nil(call->reply);
}

void command_lset(struct call *call)
{
    struct entry *key;
    struct item *item;
    if (!call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key == NULL) {
        reply_error(call->reply, "ERR no such key");
        return;
    }
    if (!find_item(call, key->value, &item))
        return;
    if (item == NULL) {
        reply_error(call->reply, "ERR index out of range");
        return;
    }
    if (!list_replace(key->value, item, call_arg(call, 3))) {
        call_no_memory(call);
        return;
    }
    db_changed(call->client->db, key);
    call_ok(call);
}

/* Takes items out until those from `first` to `last` are left. */
static void trim(struct list *list, int64_t first, int64_t last)
{
    for (int64_t more = (int64_t)list->count - 1 - last; more > 0; more--)
        free(list_pop(list, LIST_RIGHT));
    for (; first > 0; first--)
        free(list_pop(list, LIST_LEFT));
}

void command_ltrim(struct call *call)
{
    struct entry *key;
    int64_t first;
    int64_t last;
    if (!call_number(call, 2, &first) || !call_number(call, 3, &last) ||
        !call_find(call, call_arg(call, 1), VALUE_LIST, &key))
        return;
    if (key != NULL) {
        if (take_range(key->value, &first, &last)) {
            trim(key->value, first, last);
            db_changed(call->client->db, key);
        } else {
            db_remove_key(call->client->db, key);
        }
    }
    call_ok(call);
}

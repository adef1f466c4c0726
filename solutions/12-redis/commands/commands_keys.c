/* Commands for keys with values of any type. */

#include <string.h>

#include "commands/call.h"
#include "commands/commands.h"

void command_del(struct call *call)
{
    int64_t removed = 0;
    for (size_t i = 1; i < call->request->count; i++)
        removed += db_remove(call->client->db, call_arg(call, i));
    reply_number(call->reply, removed);
}

void command_exists(struct call *call)
{
    int64_t found = 0;
    for (size_t i = 1; i < call->request->count; i++)
        found += db_find(call->client->db, call_arg(call, i)) != NULL;
    reply_number(call->reply, found);
}

void command_type(struct call *call)
{
    const struct entry *key = db_find(call->client->db, call_arg(call, 1));
    reply_status(call->reply, key != NULL ? value_type_name(key->value) : "none");
}

/* The key in argument 1, which is to get the name in argument 2. NULL: the error is written. */
static struct entry *find_renamed(const struct call *call)
{
    struct entry *key = db_find(call->client->db, call_arg(call, 1));
    if (key == NULL)
        reply_error(call->reply, "ERR no such key");
    return key;
}

void command_rename(struct call *call)
{
    struct bytes to = call_arg(call, 2);
    struct entry *key = find_renamed(call);
    if (key == NULL)
        return;
    bool same = key->size == to.size && memcmp(key->key, to.data, to.size) == 0;
    if (!same && !db_rename(call->client->db, key, to))
        call_no_memory(call);
    else
        call_ok(call);
}

void command_renamenx(struct call *call)
{
    struct db *db = call->client->db;
    struct bytes to = call_arg(call, 2);
    struct entry *key = find_renamed(call);
    if (key == NULL)
        return;
    bool is_free = db_find(db, to) == NULL; /* also not if it is the key itself */
    if (is_free && !db_rename(db, key, to))
        call_no_memory(call);
    else
        reply_number(call->reply, is_free);
}

/* KEYS and SCAN: the names of all keys, at once or in several steps. */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"
#include "redis/glob.h"
#include "wire/number.h"

/* What a client looks for, and what has been found. The number of names comes first in the reply,
 * and is known last. So the names are kept in a buffer of their own. */
struct search {
    struct bytes pattern;
    struct bytes type; /* data NULL: any */
    struct buffer names;
    struct reply reply; /* to `names` */
    size_t count;
    size_t visited;
};

/* SCAN without COUNT visits so many keys. */
enum { SCAN_COUNT = 10 };

static bool is_type(const struct value *value, struct bytes type)
{
    const char *name = value_type_name(value);
    return type.data == NULL || (strlen(name) == type.size &&
                                 strncasecmp(name, (const char *)type.data, type.size) == 0);
}

static void visit(void *context, struct entry *key)
{
    struct search *search = context;
    search->visited++;
    if (expiry_is_over(key->value) || !is_type(key->value, search->type) ||
        !glob_match(search->pattern, db_name(key)))
        return;
    reply_string(&search->reply, db_name(key));
    search->count++;
}

static void begin_search(struct search *search, struct bytes pattern)
{
    *search = (struct search){.pattern = pattern};
    search->reply.out = &search->names;
}

/* Writes the names, and frees them. */
static void end_search(const struct call *call, struct search *search)
{
    reply_array(call->reply, search->count);
    reply_append(call->reply, &search->names);
    if (search->reply.failed != NULL)
        call->reply->failed = search->reply.failed;
    buffer_free(&search->names);
}

void command_keys(struct call *call)
{
    struct search search;
    size_t cursor = 0;
    begin_search(&search, call_arg(call, 1));
    do
        cursor = dict_scan(&call->client->db->keys, cursor, visit, &search);
    while (cursor != 0);
    end_search(call, &search);
}

/* Reads a cursor, as strtoul() does: it takes more than number_parse(). */
static bool take_cursor(const struct call *call, size_t *cursor)
{
    struct bytes text = call_arg(call, 1);
    char digits[32] = "";
    char *end = digits;
    if (text.size < sizeof digits) {
        memcpy(digits, text.data, text.size);
        errno = 0;
        *cursor = strtoul(digits, &end, 10);
        if (errno == 0 && *end == '\0' && !isspace((unsigned char)digits[0]))
            return true;
    }
    reply_error(call->reply, "ERR invalid cursor");
    return false;
}

/* Reads the options of SCAN. */
static bool take_options(const struct call *call, struct search *search, int64_t *count)
{
    for (size_t i = 2; i < call->request->count; i += 2) {
        bool has_value = i + 1 < call->request->count;
        if (has_value && call_is(call, i, "count")) {
            if (!call_number(call, i + 1, count))
                return false;
        } else if (has_value && call_is(call, i, "match")) {
            search->pattern = call_arg(call, i + 1);
        } else if (has_value && call_is(call, i, "type")) {
            search->type = call_arg(call, i + 1);
        } else {
            *count = 0;
        }
        if (*count < 1) {
            call_syntax_error(call);
            return false;
        }
    }
    return true;
}

void command_scan(struct call *call)
{
    struct search search;
    size_t cursor;
    int64_t count = SCAN_COUNT;
    begin_search(&search, (struct bytes){(const uint8_t *)"*", 1});
    if (!take_cursor(call, &cursor) || !take_options(call, &search, &count))
        return;
    /* While the table shrinks, most buckets are empty. They are counted like a tenth of a key. */
    size_t buckets = 0;
    do
        cursor = dict_scan(&call->client->db->keys, cursor, visit, &search);
    while (cursor != 0 && search.visited < (size_t)count && ++buckets / 10 < (size_t)count);
    uint8_t digits[NUMBER_MAX_BYTES];
    size_t size = number_print((int64_t)cursor, digits);
    reply_array(call->reply, 2);
    reply_string(call->reply, (struct bytes){digits, size});
    end_search(call, &search);
}

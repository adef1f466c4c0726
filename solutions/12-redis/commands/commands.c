#include "commands/commands.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More than every name has. */
enum { NAME_BYTES = 32 };

/* Sorted by name. The arities are those of Redis. */
static const struct command commands[] = {
    {"append", 3, 0, command_append},
    {"client", -2, COMMAND_FAMILY, NULL},
    {"client|getname", 2, 0, command_client_getname},
    {"client|id", 2, 0, command_client_id},
    {"client|info", 2, 0, command_client_info},
    {"client|list", -2, 0, command_client_list},
    {"client|no-evict", 3, 0, command_client_no_evict},
    {"client|setinfo", 4, 0, command_client_setinfo},
    {"client|setname", 3, 0, command_client_setname},
    {"command", -1, COMMAND_FAMILY, command_command},
    {"command|count", 2, 0, command_command_count},
    {"command|docs", -2, 0, command_command},
    {"config", -2, COMMAND_FAMILY, NULL},
    {"config|get", -3, 0, command_config_get},
    {"config|resetstat", 2, 0, command_config_resetstat},
    {"config|set", -4, 0, command_config_set},
    {"dbsize", 1, 0, command_dbsize},
    {"decr", 2, 0, command_decr},
    {"decrby", 3, 0, command_decrby},
    {"del", -2, 0, command_del},
    {"discard", 1, COMMAND_AT_ONCE, command_discard},
    {"echo", 2, 0, command_echo},
    {"exec", 1, COMMAND_AT_ONCE, command_exec},
    {"exists", -2, 0, command_exists},
    {"expire", -3, 0, command_expire},
    {"expireat", -3, 0, command_expireat},
    {"flushall", -1, 0, command_flushall},
    {"flushdb", -1, 0, command_flushdb},
    {"get", 2, 0, command_get},
    {"getdel", 2, 0, command_getdel},
    {"getrange", 4, 0, command_getrange},
    {"getset", 3, 0, command_getset},
    {"hello", -1, 0, command_hello},
    {"incr", 2, 0, command_incr},
    {"incrby", 3, 0, command_incrby},
    {"info", -1, 0, command_info},
    {"keys", 2, 0, command_keys},
    {"lindex", 3, 0, command_lindex},
    {"llen", 2, 0, command_llen},
    {"lpop", -2, 0, command_lpop},
    {"lpush", -3, 0, command_lpush},
    {"lrange", 4, 0, command_lrange},
    {"lset", 4, 0, command_lset},
    {"ltrim", 4, 0, command_ltrim},
    {"mget", -2, 0, command_mget},
    {"mset", -3, 0, command_mset},
    {"multi", 1, COMMAND_AT_ONCE, command_multi},
    {"persist", 2, 0, command_persist},
    {"pexpire", -3, 0, command_pexpire},
    {"pexpireat", -3, 0, command_pexpireat},
    {"ping", -1, COMMAND_SUBSCRIBED, command_ping},
    {"psetex", 4, 0, command_psetex},
    {"psubscribe", -2, COMMAND_SUBSCRIBED, command_psubscribe},
    {"pttl", 2, 0, command_pttl},
    {"publish", 3, 0, command_publish},
    {"punsubscribe", -1, COMMAND_SUBSCRIBED, command_punsubscribe},
    {"quit", -1, COMMAND_AT_ONCE | COMMAND_SUBSCRIBED, command_quit},
    {"rename", 3, 0, command_rename},
    {"renamenx", 3, 0, command_renamenx},
    {"rpop", -2, 0, command_rpop},
    {"rpush", -3, 0, command_rpush},
    {"scan", -2, 0, command_scan},
    {"select", 2, 0, command_select},
    {"set", -3, 0, command_set},
    {"setex", 4, 0, command_setex},
    {"setnx", 3, 0, command_setnx},
    {"strlen", 2, 0, command_strlen},
    {"subscribe", -2, COMMAND_SUBSCRIBED, command_subscribe},
    {"time", 1, 0, command_time},
    {"ttl", 2, 0, command_ttl},
    {"type", 2, 0, command_type},
    {"unlink", -2, 0, command_del},
    {"unsubscribe", -1, COMMAND_SUBSCRIBED, command_unsubscribe},
    {"unwatch", 1, 0, command_unwatch},
    {"watch", -2, COMMAND_AT_ONCE, command_watch},
};

enum { ROWS = sizeof commands / sizeof *commands };

size_t commands_count(void)
{
    size_t count = 0;
    for (int i = 0; i < ROWS; i++)
        count += strchr(commands[i].name, '|') == NULL;
    return count;
}

static int by_name(const void *name, const void *command)
{
    return strcmp(name, ((const struct command *)command)->name);
}

/* Copies a word in small letters to the tail of a name. False: then it would be too long. */
static bool append(char name[NAME_BYTES], size_t *size, struct bytes word)
{
    if (word.size >= NAME_BYTES - *size)
        return false;
    for (size_t i = 0; i < word.size; i++)
        name[(*size)++] = (char)tolower(word.data[i]);
    return true;
}

static const struct command *find(char name[NAME_BYTES], size_t size)
{
    name[size] = '\0';
    if (strlen(name) != size)
        return NULL;
    return bsearch(name, commands, ROWS, sizeof *commands, by_name);
}

const struct command *commands_find(struct bytes name)
{
    char copy[NAME_BYTES];
    size_t size = 0;
    if (!append(copy, &size, name) || memchr(copy, '|', size) != NULL)
        return NULL;
    return find(copy, size);
}

const struct command *commands_find_in(const struct command *family, struct bytes name)
{
    char copy[NAME_BYTES];
    size_t size = strlen(family->name);
    memcpy(copy, family->name, size);
    copy[size++] = '|';
    return append(copy, &size, name) ? find(copy, size) : NULL;
}

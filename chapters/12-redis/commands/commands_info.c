/* INFO: the server in numbers. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"

/* The text is short: its length is bounded by the number of databases. */
struct info {
    char text[4096];
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct info *info, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(info->text + info->size, sizeof info->text - info->size, format, args);
    va_end(args);
    info->size += (size_t)size;
}

/* How many entries have been moved because tables grew or shrank. */
static size_t count_moves(const struct redis *redis)
{
    size_t moves = 0;
    for (int i = 0; i < REDIS_DBS; i++)
        moves += dict_moves(&redis->dbs[i].keys);
    return moves;
}

static void add_databases(struct info *info, const struct redis *redis)
{
    add(info, "# Keyspace\r\n");
    for (int i = 0; i < REDIS_DBS; i++) {
        const struct db *db = &redis->dbs[i];
        if (dict_count(&db->keys) > 0)
            add(info, "db%d:keys=%zu,expires=%zu,avg_ttl=0\r\n", i, dict_count(&db->keys),
                db->expiries);
    }
}

void command_info(struct call *call)
{
    struct info info = {.size = 0};
    const struct redis *redis = call->client->redis;
    add(&info, "# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nprocess_id:%d\r\n",
        REDIS_VERSION, (int)getpid());
    add(&info, "uptime_in_seconds:%lld\r\n\r\n", (long long)(expiry_now() - redis->started) / 1000);
    add(&info, "# Stats\r\ntotal_connections_received:%lld\r\ntotal_commands_processed:%lld\r\n",
        (long long)redis->clients, (long long)redis->commands);
    add(&info, "table_moves:%zu\r\n\r\n", count_moves(redis));
    add(&info, "# Replication\r\nrole:master\r\n\r\n");
    add_databases(&info, redis);
    reply_string(call->reply, (struct bytes){(const uint8_t *)info.text, info.size});
}

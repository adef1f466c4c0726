#include "redis/redis.h"

#include <stdlib.h>

#include "redis/expiry.h"

struct redis *redis_new(struct timers *timers)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL)
        return NULL;
    for (int i = 0; i < REDIS_DBS; i++)
        db_init(&redis->dbs[i], timers);
    channels_init(&redis->channels);
    redis->started = expiry_now();
    return redis;
}

void redis_free(struct redis *redis)
{
    if (redis == NULL)
        return;
    for (int i = 0; i < REDIS_DBS; i++)
        db_free(&redis->dbs[i]);
    channels_free(&redis->channels);
    free(redis);
}

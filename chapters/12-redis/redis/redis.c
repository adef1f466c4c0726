#include "redis/redis.h"

#include <stdlib.h>

#include "redis/expiry.h"
#include "redis/garbage.h"

struct redis *redis_new(struct timers *timers)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL)
        return NULL;
    for (int i = 0; i < REDIS_DBS; i++)
        db_init(&redis->dbs[i], timers);
    channels_init(&redis->channels);
    garbage_start(timers);
    redis->started = expiry_now();
    return redis;
}

void redis_free(struct redis *redis)
{
    if (redis == NULL)
        return;
    garbage_stop(); /* its links have names of the databases and the channels */
    for (int i = 0; i < REDIS_DBS; i++)
        db_free(&redis->dbs[i]);
    channels_free(&redis->channels);
    free(redis);
}

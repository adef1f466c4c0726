/* What all Redis clients share: the databases and the channels. Only the thread of one loop uses
 * them, so each command is run as a whole before the next one. */
#ifndef REDIS_H
#define REDIS_H

#include <stdint.h>

#include "events/timers.h"
#include "redis/channels.h"
#include "redis/db.h"

/* Clients ask for the version, to know which commands there are. */
#define REDIS_VERSION "7.0.15"

enum { REDIS_DBS = 16 };

struct redis {
    struct db dbs[REDIS_DBS];
    struct channels channels;
    int64_t started;  /* see expiry_now() */
    int64_t clients;  /* so far */
    int64_t commands; /* run since the start, or since CONFIG RESETSTAT */
};

/* Keys end with these timers, which are borrowed. NULL: no memory. */
struct redis *redis_new(struct timers *timers);

/* Frees everything. All clients must have been freed. NULL is allowed. */
void redis_free(struct redis *redis);

#endif

/* When keys end.
 *
 * A key ends at a Unix time, in milliseconds: clients say "at midnight" as well as "in 10 seconds".
 * From then on no client sees it. That is asked whenever the key is used. But keys that nobody uses
 * would take memory for ever, so a timer removes them, too. Timers know nothing of the time of day,
 * which may be set. So a timer that is due only looks at the time. */
#ifndef EXPIRY_H
#define EXPIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "events/timers.h"
#include "redis/db.h"
#include "redis/value.h"

/* The end of one key. */
struct expiry {
    struct timer timer;
    int64_t at_ms;
    struct db *db;     /* borrowed */
    uint32_t clears;   /* of the db when this was made: the key was removed since if it has more */
    struct entry *key; /* borrowed; in that db */
};

/* The Unix time in milliseconds. */
int64_t expiry_now(void);

/* Lets that time stand still, or go on. It stands still while a command runs: so a key that the
 * command has found cannot end before the command has finished. */
void expiry_stop_clock(bool stop);

/* Lets a key end at that time, and no longer at another one. A time that is over is allowed. False:
 * no memory; nothing has changed. */
bool expiry_set(struct db *db, struct entry *key, int64_t at_ms);

/* Lets the key of this value stay for ever. False: it does so already. */
bool expiry_clear(struct value *value);

/* When the key of this value ends; EXPIRY_NEVER: it stays for ever. */
#define EXPIRY_NEVER (-1)
int64_t expiry_at(const struct value *value);

/* Whether the key of this value has ended. */
bool expiry_is_over(const struct value *value);

/* Lets the value of `key`, which has no expiry or this one already, own an expiry from now on.
 * NULL: it gets none. */
void expiry_attach(struct expiry *expiry, struct entry *key);

#endif

#include "redis/expiry.h"

#include <stdlib.h>
#include <time.h>

static int64_t read_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool stopped;
static int64_t now_ms; /* 0: nobody has asked since the clock was stopped */

void expiry_stop_clock(bool stop)
{
    stopped = stop;
    now_ms = 0;
}

int64_t expiry_now(void)
{
    if (!stopped || now_ms == 0)
        now_ms = read_clock();
    return now_ms;
}

int64_t expiry_at(const struct value *value)
{
    return value->expiry != NULL ? value->expiry->at_ms : EXPIRY_NEVER;
}

void expiry_attach(struct expiry *expiry, struct entry *key)
{
    struct value *value = key->value;
    value->expiry = expiry;
    if (expiry != NULL)
        expiry->key = key;
}

/* Whether the key was removed together with all others, and waits to be freed. */
static bool is_cleared(const struct expiry *expiry)
{
    return expiry->clears != expiry->db->clears;
}

/* TODO 4: End keys at their time: no client sees them any more, and a timer removes them. Graded
 * by test_12_times_to_live.
 * A key ends by the time of day, and a timer counts milliseconds from now, TIMER_MAX_MS at most.
 * So a timer may be due too early: then set it again.
 * `db->expiries` counts the keys that will end. expiry_clear() cancels the timer before it frees
 * it. After FLUSHALL a key may wait to be freed: then is_cleared() is true, its timer removes
 * nothing, and `db->expiries` does not count it. */
bool expiry_is_over(const struct value *value)
{
    (void)value;
    return false;
}

bool expiry_set(struct db *db, struct entry *key, int64_t at_ms)
{
    (void)db, (void)key, (void)at_ms, (void)is_cleared;
    return true;
}

bool expiry_clear(struct value *value)
{
    (void)value;
    return false;
}

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

// BEGIN expiry
bool expiry_is_over(const struct value *value)
{
    return value->expiry != NULL && expiry_now() > value->expiry->at_ms;
}

/* Sets the timer for the first millisecond in which the key has ended. */
static bool start_timer(struct expiry *expiry)
{
    int64_t left_ms = expiry->at_ms - expiry_now();
    if (left_ms < 0)
        left_ms = 0;
    /* A timer cannot wait for years. If it is too early, it is set again. */
    int32_t ms = left_ms < TIMER_MAX_MS ? (int32_t)left_ms + 1 : TIMER_MAX_MS;
    return timer_set(expiry->db->timers, &expiry->timer, ms, false);
}

static void on_timer(struct timer *timer, void *context)
{
    struct expiry *expiry = context;
    (void)timer;
    if (is_cleared(expiry))
        return;
    /* The time of day may have been set back, or the timer could not wait long enough. If it cannot
     * be set again, the key still ends when it is used. */
    if (expiry_is_over(expiry->key->value))
        db_remove_key(expiry->db, expiry->key);
    else
        start_timer(expiry);
}

bool expiry_set(struct db *db, struct entry *key, int64_t at_ms)
{
    struct value *value = key->value;
    struct expiry *expiry = malloc(sizeof *expiry);
    if (expiry == NULL)
        return false;
    *expiry = (struct expiry){
        .timer = {.call = on_timer, .context = expiry},
        .at_ms = at_ms,
        .db = db,
        .clears = db->clears,
        .key = key,
    };
    if (!start_timer(expiry)) {
        free(expiry);
        return false;
    }
    expiry_clear(value);
    value->expiry = expiry;
    db->expiries++;
    return true;
}

bool expiry_clear(struct value *value)
{
    struct expiry *expiry = value->expiry;
    if (expiry == NULL)
        return false;
    timer_cancel(expiry->db->timers, &expiry->timer);
    if (!is_cleared(expiry))
        expiry->db->expiries--;
    free(expiry);
    value->expiry = NULL;
    return true;
}
// END expiry

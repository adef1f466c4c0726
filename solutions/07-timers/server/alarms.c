#include "server/alarms.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int by_seq(const void *left, const void *right)
{
    const struct alarm *a = left;
    const struct alarm *b = right;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static size_t bytes_of(const struct alarm *alarm)
{
    return sizeof *alarm + alarm->size;
}

static void on_timer(struct timer *timer, void *context)
{
    struct alarm *alarm = context;
    (void)timer;
    alarm->alarms->ring(alarm, alarm->alarms->context);
}

struct alarms *alarms_new(struct timers *timers, alarms_callback *ring, void *context)
{
    struct alarms *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    *a = (struct alarms){.timers = timers, .ring = ring, .context = context};
    TAILQ_INIT(&a->owed);
    return a;
}

void alarms_free(struct alarms *a)
{
    if (a == NULL)
        return;
    while (a->by_seq != NULL)
        alarms_remove(*(struct alarm **)a->by_seq); /* a node begins with a pointer to its item */
    free(a);
}

struct alarm *alarms_add(struct alarms *a, int32_t cmd, int32_t seq, int32_t ms, int32_t count,
                         struct bytes text)
{
    struct alarm *alarm = malloc(sizeof *alarm + text.size);
    if (alarm == NULL)
        return NULL;
    *alarm = (struct alarm){
        .timer = {.call = on_timer, .context = alarm},
        .alarms = a,
        .cmd = cmd,
        .seq = seq,
        .ms = ms,
        .left = count,
        .size = text.size,
    };
    memcpy(alarm->text, text.data, text.size);
    bool fits = a->bytes + bytes_of(alarm) <= ALARMS_MAX_BYTES;
    if (!fits || !timer_set(a->timers, &alarm->timer, ms, count > 1)) {
        free(alarm);
        return NULL;
    }
    if (tsearch(alarm, &a->by_seq, by_seq) == NULL) {
        timer_cancel(a->timers, &alarm->timer);
        free(alarm);
        return NULL;
    }
    a->bytes += bytes_of(alarm);
    return alarm;
}

struct alarm *alarms_find(const struct alarms *a, int32_t seq)
{
    struct alarm wanted = {.seq = seq};
    struct alarm **found = tfind(&wanted, &a->by_seq, by_seq);
    return found != NULL ? *found : NULL;
}

bool alarms_pending(const struct alarms *a)
{
    return a != NULL && a->by_seq != NULL;
}

static void set_owed(struct alarm *alarm, bool is_owed)
{
    struct alarms *a = alarm->alarms;
    if (is_owed && !alarm->is_owed)
        TAILQ_INSERT_TAIL(&a->owed, alarm, owed);
    if (!is_owed && alarm->is_owed)
        TAILQ_REMOVE(&a->owed, alarm, owed);
    alarm->is_owed = is_owed;
}

void alarms_remove(struct alarm *alarm)
{
    struct alarms *a = alarm->alarms;
    timer_cancel(a->timers, &alarm->timer);
    set_owed(alarm, false);
    tdelete(alarm, &a->by_seq, by_seq);
    a->bytes -= bytes_of(alarm);
    free(alarm);
}

/* Lets an alarm that was owed ring again. False: no memory; nothing has changed. */
static bool resume(struct alarm *alarm)
{
    if (!timer_set(alarm->alarms->timers, &alarm->timer, alarm->ms, alarm->left > 1))
        return false;
    set_owed(alarm, false);
    return true;
}

bool alarms_reset(struct alarm *alarm, int32_t ms, bool from_now)
{
    alarm->ms = ms;
    if (alarm->is_owed)
        return resume(alarm);
    timer_reset(alarm->alarms->timers, &alarm->timer, ms, from_now);
    return true;
}

bool alarms_answered(struct alarm *alarm)
{
    alarm->index++;
    alarm->left--;
    if (alarm->left > 0)
        return !alarm->is_owed || resume(alarm);
    alarms_remove(alarm);
    return true;
}

void alarms_suspend(struct alarm *alarm)
{
    timer_cancel(alarm->alarms->timers, &alarm->timer);
    set_owed(alarm, true);
}

struct alarm *alarms_owed(const struct alarms *a)
{
    return a != NULL ? TAILQ_FIRST(&a->owed) : NULL;
}

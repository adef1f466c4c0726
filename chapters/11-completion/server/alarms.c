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

/* What an alarm costs beside itself: a node of the tree; its place in the heap of timers.c; and
 * what malloc() adds to both blocks. */
enum { NODE_BYTES = 24, PLACE_BYTES = sizeof(void *), ADDED_BYTES = 2 * 16 };

/* Alarms that cost so much are freed in one iteration: some hundred. A client may have 150,000, and
 * nobody would be served while all of them are freed. */
enum { FREED_AT_ONCE_BYTES = 64 << 10 };

/* The alarms of this thread that nobody wants any more. */
static _Thread_local struct {
    SLIST_HEAD(, alarms) list;
    struct timers *timers; /* borrowed; of its loop */
    struct timer timer;    /* frees some whenever it is due; set while the list is not empty */
} unwanted;

static size_t cost(size_t text_bytes)
{
    return sizeof(struct alarm) + text_bytes + NODE_BYTES + PLACE_BYTES + ADDED_BYTES;
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

/* Frees unwanted alarms until at least `bytes` bytes have been freed, or none is left. */
static void free_unwanted(size_t bytes)
{
    struct alarms *a;
    size_t freed = 0;
    while (freed < bytes && (a = SLIST_FIRST(&unwanted.list)) != NULL) {
        size_t before = a->bytes;
        if (a->by_seq != NULL) /* a node begins with a pointer to its item */
            alarms_remove(*(struct alarm **)a->by_seq);
        freed += before - a->bytes;
        if (a->by_seq != NULL)
            continue;
        SLIST_REMOVE_HEAD(&unwanted.list, unwanted);
        if (SLIST_EMPTY(&unwanted.list))
            timer_cancel(unwanted.timers, &unwanted.timer);
        free(a);
    }
}

static void on_unwanted(struct timer *timer, void *context)
{
    (void)timer, (void)context;
    free_unwanted(FREED_AT_ONCE_BYTES);
}

static void ring_unwanted(struct alarm *alarm, void *context)
{
    (void)context;
    alarms_remove(alarm);
}

void alarms_free(struct alarms *a)
{
    if (!alarms_pending(a)) {
        free(a);
        return;
    }
    a->ring = ring_unwanted;
    if (SLIST_EMPTY(&unwanted.list)) {
        /* Due at once, again and again: the loop does not sleep, and serves everybody meanwhile. */
        unwanted.timers = a->timers;
        unwanted.timer = (struct timer){.call = on_unwanted};
        timer_set(unwanted.timers, &unwanted.timer, 0, true);
    }
    SLIST_INSERT_HEAD(&unwanted.list, a, unwanted);
    if (!timer_is_set(&unwanted.timer)) /* no memory */
        alarms_free_now();
}

void alarms_free_now(void)
{
    free_unwanted(SIZE_MAX);
}

bool alarms_fit(const struct alarms *a, size_t text_bytes)
{
    return a->bytes + cost(text_bytes) <= ALARMS_MAX_BYTES;
}

struct alarm *alarms_add(struct alarms *a, int32_t cmd, int32_t seq, int32_t ms, int32_t count,
                         struct bytes text)
{
    /* As much as it will cost: so clients that come, set alarms and go again and again find that
     * memory, and do not pile up more than their connections may have. */
    free_unwanted(cost(text.size));
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
    if (!timer_set(a->timers, &alarm->timer, ms, count > 1)) {
        free(alarm);
        return NULL;
    }
    if (tsearch(alarm, &a->by_seq, by_seq) == NULL) {
        timer_cancel(a->timers, &alarm->timer);
        free(alarm);
        return NULL;
    }
    a->bytes += cost(alarm->size);
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
    a->bytes -= cost(alarm->size);
    free(alarm);
}

/* Lets an alarm that was owed ring again, `ms` from now or from when it rang. False: no memory;
 * nothing has changed. */
static bool resume(struct alarm *alarm, bool from_now)
{
    struct timers *timers = alarm->alarms->timers;
    bool recurring = alarm->left > 1;
    bool is_set = from_now ? timer_set(timers, &alarm->timer, alarm->ms, recurring)
                           : timer_set_since_due(timers, &alarm->timer, alarm->ms, recurring);
    if (is_set)
        set_owed(alarm, false);
    return is_set;
}

bool alarms_reset(struct alarm *alarm, int32_t ms, bool from_now)
{
    alarm->ms = ms;
    if (alarm->is_owed)
        return resume(alarm, from_now);
    timer_reset(alarm->alarms->timers, &alarm->timer, ms, from_now);
    return true;
}

bool alarms_answered(struct alarm *alarm)
{
    alarm->index++;
    alarm->left--;
    if (alarm->left > 0)
        return !alarm->is_owed || resume(alarm, true);
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

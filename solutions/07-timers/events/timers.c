#include "events/timers.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"

/* A min-heap: the timer at i is not later than those at 2i + 1 and 2i + 2, so the earliest is at 0.
 * Each timer knows its index, so it need not be searched for. (Sedgewick and Wayne, Algorithms,
 * section 2.4, there with indexes from 1.) */
struct timers {
    struct timer **heap;
    uint32_t count;
    struct timer **due; /* taken out of the heap, not called yet; NULL: cancelled since */
    uint32_t due_count;
    uint32_t size; /* of both: each has space for every timer that is set */
    uint64_t next_order;
};

/* The only function that writes into the heap, so each index is right. */
static void put(struct timers *t, uint32_t index, struct timer *timer)
{
    t->heap[index] = timer;
    timer->index = index;
}

// BEGIN sift
/* Says whether `a` comes before `b`. */
static bool is_before(const struct timer *a, const struct timer *b)
{
    if (a->deadline_us != b->deadline_us)
        return a->deadline_us < b->deadline_us;
    return a->order < b->order;
}

/* Moves a timer towards the top, past timers that are later. */
static void sift_up(struct timers *t, struct timer *timer)
{
    uint32_t index = timer->index;
    while (index > 0) {
        uint32_t parent = (index - 1) / 2;
        if (!is_before(timer, t->heap[parent]))
            break;
        put(t, index, t->heap[parent]);
        index = parent;
    }
    put(t, index, timer);
}

/* Moves a timer towards the bottom, past timers that are earlier. */
static void sift_down(struct timers *t, struct timer *timer)
{
    uint32_t index = timer->index;
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= t->count)
            break;
        if (child + 1 < t->count && is_before(t->heap[child + 1], t->heap[child]))
            child++;
        if (!is_before(t->heap[child], timer))
            break;
        put(t, index, t->heap[child]);
        index = child;
    }
    put(t, index, timer);
}
// END sift

static void insert(struct timers *t, struct timer *timer)
{
    timer->place = TIMER_WAITING;
    timer->order = t->next_order++;
    put(t, t->count++, timer);
    sift_up(t, timer);
}

/* Takes a timer out of the heap, wherever it is. */
static void take_out(struct timers *t, struct timer *timer)
{
    // BEGIN take_out
    timer->place = TIMER_IDLE;
    struct timer *last = t->heap[--t->count];
    if (last == timer)
        return;
    /* The last one fills the gap. It may come from another branch of the tree, so it can be too
     * early in its new place as well as too late. */
    put(t, timer->index, last);
    sift_up(t, last);
    sift_down(t, last);
    // END take_out
}

/* Makes space for one more timer. False: no memory. */
static bool reserve(struct timers *t)
{
    if (t->count + t->due_count < t->size)
        return true;
    uint32_t size = 2 * t->size + 16;
    struct timer **heap = realloc(t->heap, size * sizeof *heap);
    if (heap == NULL)
        return false;
    t->heap = heap;
    struct timer **due = realloc(t->due, size * sizeof *due);
    if (due == NULL)
        return false;
    t->due = due;
    t->size = size;
    return true;
}

bool timer_cancel(struct timers *t, struct timer *timer)
{
    if (timer->place == TIMER_IDLE)
        return false;
    if (timer->place == TIMER_DUE) {
        t->due[timer->index] = NULL;
        timer->place = TIMER_IDLE;
    } else {
        take_out(t, timer);
    }
    return true;
}

/* Sets a timer for `ms` milliseconds after `start_us`. False: no memory; nothing has changed. */
static bool set(struct timers *t, struct timer *timer, int64_t start_us, int32_t ms, bool recurring)
{
    if (timer->place == TIMER_IDLE && !reserve(t))
        return false;
    timer_cancel(t, timer);
    timer->delay_us = (int64_t)ms * 1000;
    timer->deadline_us = start_us + timer->delay_us;
    timer->recurring = recurring;
    insert(t, timer);
    return true;
}

bool timer_set(struct timers *t, struct timer *timer, int32_t ms, bool recurring)
{
    return set(t, timer, clock_us(), ms, recurring);
}

bool timer_set_since_due(struct timers *t, struct timer *timer, int32_t ms, bool recurring)
{
    /* A recurring timer was started again before it was called. */
    int64_t due_us = timer->deadline_us - (timer->recurring ? timer->delay_us : 0);
    return set(t, timer, due_us, ms, recurring);
}

bool timer_reset(struct timers *t, struct timer *timer, int32_t ms, bool from_now)
{
    // BEGIN timer_reset
    if (!timer_cancel(t, timer))
        return false;
    int64_t start_us = from_now ? clock_us() : timer->deadline_us - timer->delay_us;
    timer->delay_us = (int64_t)ms * 1000;
    timer->deadline_us = start_us + timer->delay_us;
    insert(t, timer);
    return true;
    // END timer_reset
}

bool timer_is_set(const struct timer *timer)
{
    return timer->place != TIMER_IDLE;
}

int timers_timeout(const struct timers *t)
{
    // BEGIN timers_timeout
    if (t->count == 0)
        return -1;
    int64_t left_us = t->heap[0]->deadline_us - clock_us();
    if (left_us <= 0)
        return 0;
    /* Rounded up: a wait that ends too early finds nothing due, and the loop would wait 0 ms again
     * and again until the millisecond is over. */
    int64_t left_ms = (left_us + 999) / 1000;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
    // END timers_timeout
}

// BEGIN timers_run
/* Starts a recurring timer for its next call. The time is counted from its deadline, not from now:
 * else each call would come a little later than the one before. If a whole round was missed, it is
 * counted from now, since several calls in quick succession help no one. */
static void start_again(struct timers *t, struct timer *timer)
{
    int64_t now = clock_us();
    timer->deadline_us += timer->delay_us;
    if (timer->deadline_us < now)
        timer->deadline_us = now + timer->delay_us;
    insert(t, timer);
}

/* Takes timers that are due out of the heap, TIMERS_AT_ONCE at most. */
static void collect_due(struct timers *t)
{
    int64_t now = clock_us();
    while (t->due_count < TIMERS_AT_ONCE && t->count > 0 && t->heap[0]->deadline_us <= now) {
        struct timer *timer = t->heap[0];
        take_out(t, timer);
        timer->place = TIMER_DUE;
        timer->index = t->due_count;
        t->due[t->due_count++] = timer;
    }
}

void timers_run(struct timers *t)
{
    /* All are collected before any is called: else a timer that sets itself for "now" would keep
     * the loop here for ever. */
    collect_due(t);
    for (uint32_t i = 0; i < t->due_count; i++) {
        struct timer *timer = t->due[i];
        if (timer == NULL)
            continue;
        timer->place = TIMER_IDLE;
        if (timer->recurring)
            start_again(t, timer);
        timer->call(timer, timer->context); /* which may have freed it */
    }
    t->due_count = 0;
}
// END timers_run

struct timers *timers_new(void)
{
    return calloc(1, sizeof(struct timers));
}

void timers_free(struct timers *t)
{
    free(t->heap);
    free(t->due);
    free(t);
}

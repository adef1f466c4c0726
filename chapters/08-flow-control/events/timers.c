#include "events/timers.h"

#include <limits.h>
#include <stdlib.h>

#include "base/clock.h"

/* A min-heap: the timer at i is not later than those at 2i + 1 and 2i + 2, so the earliest is at 0.
 * Each timer knows its index, so it need not be searched for. (Sedgewick and Wayne, Algorithms,
 * section 2.4, there with indexes from 1.)
 *
 * The array of the heap is made of blocks. So nothing is copied when it grows, however many timers
 * there are, and it gives memory back when it shrinks. */
enum { BLOCK_TIMERS = 1024 };

struct timers {
    struct timer ***blocks; /* each has space for BLOCK_TIMERS of the heap */
    uint32_t block_count;   /* enough for every timer that is set */
    uint32_t count;         /* of timers in the heap */
    uint32_t due_count;
    struct timer *due[TIMERS_AT_ONCE]; /* taken out of the heap, not called yet; NULL: cancelled */
    uint64_t next_order;
};

/* The timer at an index of the heap. */
static struct timer *at(const struct timers *t, uint32_t index)
{
    return t->blocks[index / BLOCK_TIMERS][index % BLOCK_TIMERS];
}

/* The only function that writes into the heap, so each index is right. */
static void put(struct timers *t, uint32_t index, struct timer *timer)
{
    t->blocks[index / BLOCK_TIMERS][index % BLOCK_TIMERS] = timer;
    timer->index = index;
}

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
        if (!is_before(timer, at(t, parent)))
            break;
        put(t, index, at(t, parent));
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
        if (child + 1 < t->count && is_before(at(t, child + 1), at(t, child)))
            child++;
        if (!is_before(at(t, child), timer))
            break;
        put(t, index, at(t, child));
        index = child;
    }
    put(t, index, timer);
}

static void insert(struct timers *t, struct timer *timer)
{
    timer->place = TIMER_WAITING;
    timer->order = t->next_order++;
    put(t, t->count++, timer);
    sift_up(t, timer);
}

/* How many more timers there is space for. Timers that are due keep their place in the heap: the
 * recurring ones return to it. */
static uint32_t room(const struct timers *t)
{
    return t->block_count * BLOCK_TIMERS - t->count - t->due_count;
}

/* Makes space for one more timer. False: no memory. */
static bool reserve(struct timers *t)
{
    if (room(t) > 0)
        return true;
    struct timer ***blocks = realloc(t->blocks, (t->block_count + 1) * sizeof *blocks);
    if (blocks == NULL)
        return false;
    t->blocks = blocks;
    blocks[t->block_count] = malloc(BLOCK_TIMERS * sizeof *blocks[0]);
    if (blocks[t->block_count] == NULL)
        return false;
    t->block_count++;
    return true;
}

/* Gives back a block. It keeps one to spare: a timer that comes and goes at the border of two
 * blocks does not allocate each time. */
static void shrink(struct timers *t)
{
    if (room(t) >= 2 * BLOCK_TIMERS)
        free(t->blocks[--t->block_count]);
}

/* Takes a timer out of the heap, wherever it is. */
static void take_out(struct timers *t, struct timer *timer)
{
    shrink(t);
    timer->place = TIMER_IDLE;
    struct timer *last = at(t, --t->count);
    if (last == timer)
        return;
    /* The last one fills the gap. It may come from another branch of the tree, so it can be too
     * early in its new place as well as too late. */
    put(t, timer->index, last);
    sift_up(t, last);
    sift_down(t, last);
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
    if (!timer_cancel(t, timer))
        return false;
    int64_t start_us = from_now ? clock_us() : timer->deadline_us - timer->delay_us;
    timer->delay_us = (int64_t)ms * 1000;
    timer->deadline_us = start_us + timer->delay_us;
    insert(t, timer);
    return true;
}

bool timer_is_set(const struct timer *timer)
{
    return timer->place != TIMER_IDLE;
}

int timers_timeout(const struct timers *t)
{
    if (t->count == 0)
        return -1;
    int64_t left_us = at(t, 0)->deadline_us - clock_us();
    if (left_us <= 0)
        return 0;
    /* Rounded up: a wait that ends too early finds nothing due, and the loop would wait 0 ms again
     * and again until the millisecond is over. */
    int64_t left_ms = (left_us + 999) / 1000;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

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
    while (t->due_count < TIMERS_AT_ONCE && t->count > 0 && at(t, 0)->deadline_us <= now) {
        struct timer *timer = at(t, 0);
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

struct timers *timers_new(void)
{
    return calloc(1, sizeof(struct timers));
}

void timers_free(struct timers *t)
{
    while (t->block_count > 0)
        free(t->blocks[--t->block_count]);
    free(t->blocks);
    free(t);
}

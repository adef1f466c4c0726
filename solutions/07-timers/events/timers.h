/* Timers: calls you back when a time has come.
 *
 * A timer is part of the object that wants to be called; the heap only points to it. Times are in
 * milliseconds from now, on the monotonic clock, which only goes forward, even when the time of day
 * is set. Setting, cancelling and resetting cost O(log n) with n timers set. One thread owns all of
 * this. */
#ifndef TIMERS_H
#define TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timers;
struct timer;

/* It may cancel, set or free any timer, its own too. */
typedef void timers_callback(struct timer *timer, void *context);

/* Where a timer is. */
enum timer_place { TIMER_IDLE, TIMER_WAITING, TIMER_DUE };

/* A timer that is all zero, except for the callback and the context, is not set. While a timer is
 * set it must not be moved or freed. */
struct timer {
    timers_callback *call;
    void *context;
    /* Only timers.c uses the fields below. */
    int64_t deadline_us;
    int64_t delay_us; /* from its last start to its deadline */
    uint64_t order; /* of two timers with the same deadline, the one that was set first is first */
    uint32_t index; /* in the heap, or in the array of timers that are due */
    unsigned char place;
    bool recurring;
};

/* The longest time that a timer may wait: so no sum of times can overflow. */
#define TIMER_MAX_MS INT32_MAX

/* Owned by the caller. NULL: no memory. */
struct timers *timers_new(void);

/* Forgets the timers that are set; none is called. */
void timers_free(struct timers *t);

/* Calls the timer in `ms` milliseconds, not earlier; if it is recurring, again and again, `ms`
 * apart. A timer that is set already starts again. False: no memory; nothing has changed. */
bool timer_set(struct timers *t, struct timer *timer, int32_t ms, bool recurring);

/* The same for a timer that has been called: the time is counted from when it was last due. If that
 * time has passed already, the timer is due at once. */
bool timer_set_since_due(struct timers *t, struct timer *timer, int32_t ms, bool recurring);

/* The timer will not be called. False: it was not set. */
bool timer_cancel(struct timers *t, struct timer *timer);

/* Changes the time that a timer waits to `ms`, counted from now or from its last start: when it was
 * set, or when it was last due. False: it was not set. */
bool timer_reset(struct timers *t, struct timer *timer, int32_t ms, bool from_now);

bool timer_is_set(const struct timer *timer);

/* How long the loop may wait until the first timer is due, in whole milliseconds, for events_turn.
 * 0: one is due now. -1: none is set. */
int timers_timeout(const struct timers *t);

/* How many timers are called in one iteration, so that a great many that are due together do not
 * keep the loop: about a millisecond. */
enum { TIMERS_AT_ONCE = 1024 };

/* Calls the timers that are due at this moment, in the order of the deadlines, TIMERS_AT_ONCE at
 * most. The others stay due, and so does a timer that is set meanwhile, until the next
 * timers_run. */
void timers_run(struct timers *t);

#endif

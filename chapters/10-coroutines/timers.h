/* Timers: calls you back when a time has come.
 *
 * A timer belongs to whoever wants to be called; the heap only knows where it is. Times are in
 * milliseconds from now, on the monotonic clock: it only goes forward, whatever is done to the time
 * of day. Setting, cancelling and resetting cost O(log n) with n timers set. All of this belongs to
 * one thread. */
#ifndef TIMERS_H
#define TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timers;
struct timer;

/* May do to any timer what it likes, its own too: cancel it, set it again, free its memory. */
typedef void timers_callback(struct timer *timer, void *context);

/* Where a timer is. */
enum timer_place { TIMER_IDLE, TIMER_WAITING, TIMER_DUE };

/* All zero but for the callback and the context is a timer that is not set. It must not be moved or
 * freed while it is set. */
struct timer {
    timers_callback *call;
    void *context;
    /* The rest is for timers.c. */
    int64_t deadline_us;
    int64_t delay_us; /* from its last start to its deadline */
    uint64_t order;   /* of two with the same deadline, the one that was set first is first */
    uint32_t index;   /* in the heap, or among those that are due */
    unsigned char place;
    bool recurring;
};

/* The most that a timer may be asked to wait: so no sum of times can overflow. */
#define TIMER_MAX_MS INT32_MAX

/* Owned by the caller. NULL: no memory. */
struct timers *timers_new(void);

/* Forgets the timers that are set; none is called. */
void timers_free(struct timers *t);

/* Calls the timer in `ms` milliseconds, not earlier; if it is recurring, again and again, `ms`
 * apart. One that is set already starts anew. False: no memory; nothing has changed. */
bool timer_set(struct timers *t, struct timer *timer, int32_t ms, bool recurring);

/* It will not be called. False: it was not set. */
bool timer_cancel(struct timers *t, struct timer *timer);

/* Makes `ms` the time that it waits: counted from now, or else from when it was last started, which
 * is when it was set, or called last. False: it was not set. */
bool timer_reset(struct timers *t, struct timer *timer, int32_t ms, bool from_now);

bool timer_is_set(const struct timer *timer);

/* How long a wait may be so that it ends when the first timer is due: in whole milliseconds, for
 * events_turn. 0: one is due now. -1: none is set. */
int timers_timeout(const struct timers *t);

/* Calls every timer that is due at this moment, in the order of their deadlines. One that is set
 * meanwhile has to wait for the next call, even if it is due at once. */
void timers_run(struct timers *t);

#endif

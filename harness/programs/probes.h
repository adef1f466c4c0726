/* Timers that note when they are called, and whether they should be. One set of them at a time. */
#ifndef PROBES_H
#define PROBES_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "clock.h"
#include "timers.h"

enum { PROBES_MAX = 1000 };

struct probe {
    struct timer *timer; /* `own`, or one that can be freed */
    struct timer own;
    bool waits;     /* what it should do, next to what its timer does */
    bool next_turn; /* it was set by a call: it is not due before the next timers_run() */
    int64_t due_us;
    uint64_t order; /* in which it was set */
    int calls;
    void (*then)(struct probe *); /* what it does when it is called; NULL: nothing more */
};

static struct timers *timers;
static struct probe probes[PROBES_MAX];
static bool running;            /* we are in a call of timers_run() */
static const char *wrong_order; /* the hint for what is called too early, too late, or not */
static uint64_t next_order;
static int64_t begin_us; /* when the case began */

static inline int number_of(const struct probe *probe)
{
    return (int)(probe - probes);
}

/* Milliseconds since the case began. */
static inline double at_ms(int64_t us)
{
    return (double)(us - begin_us) / MS;
}

/* Whose turn it is, if anybody's: the one that is due first, or was set first. */
static inline struct probe *first_due(void)
{
    struct probe *first = NULL;
    for (struct probe *probe = probes; probe < probes + PROBES_MAX; probe++) {
        if (!probe->waits || probe->next_turn || probe->due_us > clock_us)
            continue;
        bool before = first == NULL || probe->due_us < first->due_us ||
                      (probe->due_us == first->due_us && probe->order < first->order);
        if (before)
            first = probe;
    }
    return first;
}

static inline void on_call(struct timer *timer, void *context)
{
    struct probe *probe = context, *first = first_due();
    CHECK(timer == probe->timer, wrong_order, "timer %d was called with the pointer of another",
          number_of(probe));
    CHECK(probe->waits, wrong_order, "timer %d was called, and is not set", number_of(probe));
    CHECK(!probe->next_turn, wrong_order,
          "timer %d was called by the timers_run() in which it was set", number_of(probe));
    CHECK(probe->due_us <= clock_us, "timer-early", "timer %d was called at %.3f ms, due at %.3f",
          number_of(probe), at_ms(clock_us), at_ms(probe->due_us));
    CHECK(probe == first, wrong_order,
          "timer %d, due at %.3f ms, was called before timer %d, due at %.3f", number_of(probe),
          at_ms(probe->due_us), number_of(first), at_ms(first->due_us));
    probe->waits = false;
    probe->calls++;
    if (probe->then != NULL)
        probe->then(probe);
}

static inline void use_timer(struct probe *probe, struct timer *timer)
{
    *timer = (struct timer){.call = on_call, .context = probe};
    probe->timer = timer;
}

static inline void end_case(void)
{
    if (timers != NULL)
        timers_free(timers);
    timers = NULL;
}

/* Begins a case, without a timer that is set, and ends the one before. */
static inline void begin_case(const char *hint)
{
    check_case();
    end_case();
    timers = timers_new();
    if (timers == NULL)
        check_impossible("no memory for timers");
    wrong_order = hint;
    begin_us = clock_us;
    memset(probes, 0, sizeof probes);
    for (struct probe *probe = probes; probe < probes + PROBES_MAX; probe++)
        use_timer(probe, &probe->own);
}

static inline void expect_due(struct probe *probe, int64_t us)
{
    probe->waits = true;
    probe->next_turn = running;
    probe->due_us = us;
    probe->order = next_order++;
}

static inline void set(struct probe *probe, int32_t ms)
{
    check_step("calls timer_set() for timer %d, %" PRId32 " ms", number_of(probe), ms);
    if (!timer_set(timers, probe->timer, ms, false))
        check_impossible("no memory for a timer");
    expect_due(probe, clock_us + (int64_t)ms * MS);
}

static inline void cancel(struct probe *probe)
{
    check_step("calls timer_cancel() for timer %d", number_of(probe));
    bool was_set = timer_cancel(timers, probe->timer);
    CHECK(was_set == probe->waits, "timer-cancelled", "timer_cancel() returned %s, and it was %s",
          was_set ? "true" : "false", probe->waits ? "set" : "not set");
    probe->waits = false;
}

static inline void run(void)
{
    check_step("calls timers_run(), at %.3f ms", at_ms(clock_us));
    for (struct probe *probe = probes; probe < probes + PROBES_MAX; probe++)
        probe->next_turn = false;
    running = true;
    timers_run(timers);
    running = false;
}

/* The same; all that are due are called. */
static inline void run_all(void)
{
    run();
    const struct probe *left = first_due();
    CHECK(left == NULL, wrong_order, "timer %d, due at %.3f ms, was not called", number_of(left),
          at_ms(left->due_us));
}

#endif

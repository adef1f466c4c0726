/* Timers that note when they are called, and whether they should be. One set of them at a time. */
#ifndef GRADER_TIMER_PROBES_H
#define GRADER_TIMER_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"
#include "fake_clock.h"
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

extern struct timers *probe_timers;
extern struct probe timer_probes[PROBES_MAX];
extern int64_t probe_begin_us; /* when the case began */

int probe_number(const struct probe *probe);

/* Whose turn it is, if anybody's: the one that is due first, or was set first. */
struct probe *probe_first_due(void);

void probe_use_timer(struct probe *probe, struct timer *timer);

void probes_end_case(void);

/* Begins a case, without a timer that is set, and ends the one before. */
void probes_begin_case(const char *hint);

void probe_expect_due(struct probe *probe, int64_t us);

void probe_set(struct probe *probe, int32_t ms);

void probe_cancel(struct probe *probe);

void probes_run(void);

/* The same; all that are due are called. */
void probes_run_all(void);

#endif

#include "timer_probes.h"

#include <inttypes.h>
#include <string.h>

struct timers *probe_timers;
struct probe timer_probes[PROBES_MAX];
static bool running;            /* we are in a call of timers_run() */
static const char *wrong_order; /* the hint for what is called too early, too late, or not */
static uint64_t next_order;
int64_t probe_begin_us;

int probe_number(const struct probe *probe)
{
    return (int)(probe - timer_probes);
}

/* Milliseconds since the case began. */
static double probe_at_ms(int64_t us)
{
    return (double)(us - probe_begin_us) / MS;
}

struct probe *probe_first_due(void)
{
    struct probe *first = NULL;
    for (struct probe *probe = timer_probes; probe < timer_probes + PROBES_MAX; probe++) {
        if (!probe->waits || probe->next_turn || probe->due_us > fake_clock_us)
            continue;
        bool before = first == NULL || probe->due_us < first->due_us ||
                      (probe->due_us == first->due_us && probe->order < first->order);
        if (before)
            first = probe;
    }
    return first;
}

static void on_call(struct timer *timer, void *context)
{
    struct probe *probe = context, *first = probe_first_due();
    CHECK(timer == probe->timer, wrong_order, "timer %d was called with the pointer of another",
          probe_number(probe));
    CHECK(probe->waits, wrong_order, "timer %d was called, but it is not set", probe_number(probe));
    CHECK(!probe->next_turn, wrong_order,
          "timer %d was called by the timers_run() in which it was set", probe_number(probe));
    CHECK(probe->due_us <= fake_clock_us, "timer-early",
          "timer %d was called at %.3f ms, due at %.3f", probe_number(probe),
          probe_at_ms(fake_clock_us), probe_at_ms(probe->due_us));
    CHECK(probe == first, wrong_order,
          "timer %d, due at %.3f ms, was called before timer %d, due at %.3f", probe_number(probe),
          probe_at_ms(probe->due_us), probe_number(first), probe_at_ms(first->due_us));
    probe->waits = false;
    probe->calls++;
    if (probe->then != NULL)
        probe->then(probe);
}

void probe_use_timer(struct probe *probe, struct timer *timer)
{
    *timer = (struct timer){.call = on_call, .context = probe};
    probe->timer = timer;
}

void probes_end_case(void)
{
    if (probe_timers != NULL)
        timers_free(probe_timers);
    probe_timers = NULL;
}

void probes_begin_case(const char *hint)
{
    check_case();
    probes_end_case();
    probe_timers = timers_new();
    if (probe_timers == NULL)
        check_impossible("no memory for timers");
    wrong_order = hint;
    fake_clock_begin();
    probe_begin_us = fake_clock_us;
    memset(timer_probes, 0, sizeof timer_probes);
    for (struct probe *probe = timer_probes; probe < timer_probes + PROBES_MAX; probe++)
        probe_use_timer(probe, &probe->own);
}

void probe_expect_due(struct probe *probe, int64_t us)
{
    probe->waits = true;
    probe->next_turn = running;
    probe->due_us = us;
    probe->order = next_order++;
}

void probe_set(struct probe *probe, int32_t ms)
{
    check_step("calls timer_set() for timer %d, %" PRId32 " ms", probe_number(probe), ms);
    if (!timer_set(probe_timers, probe->timer, ms, false))
        check_impossible("no memory for a timer");
    probe_expect_due(probe, fake_clock_us + (int64_t)ms * MS);
}

void probe_cancel(struct probe *probe)
{
    check_step("calls timer_cancel() for timer %d", probe_number(probe));
    bool was_set = timer_cancel(probe_timers, probe->timer);
    CHECK(was_set == probe->waits, "timer-cancelled",
          "timer_cancel() returned %s, but the timer was %s", was_set ? "true" : "false",
          probe->waits ? "set" : "not set");
    probe->waits = false;
}

void probes_run(void)
{
    check_step("calls timers_run(), at %.3f ms", probe_at_ms(fake_clock_us));
    for (struct probe *probe = timer_probes; probe < timer_probes + PROBES_MAX; probe++)
        probe->next_turn = false;
    running = true;
    timers_run(probe_timers);
    running = false;
}

/* It is due, and was not called. If its deadline is now, a server may take that for too early. */
static void fail_uncalled(const struct probe *left)
{
    int number = probe_number(left);
    double due_ms = probe_at_ms(left->due_us);
    bool is_now = left->due_us == fake_clock_us;
    fake_clock_us++;
    timers_run(probe_timers);
    if (is_now && !left->waits)
        check_fail("timer-due-now",
                   "timer %d, due at %.3f ms, was not called at that time, but a "
                   "microsecond later",
                   number, due_ms);
    check_fail(wrong_order, "timer %d, due at %.3f ms, was not called", number, due_ms);
}

void probes_run_all(void)
{
    probes_run();
    const struct probe *left = probe_first_due();
    if (left != NULL)
        fail_uncalled(left);
}

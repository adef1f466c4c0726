/* Alarms whose reply is owed, and which get another time meanwhile.
 * links: alarms.c timers.c */
#include <inttypes.h>

#include "alarms.h"
#include "check.h"
#include "fake_clock.h"

#define START "owed-alarm-start"

enum { FIRST_MS = 10, PAUSE_MS = 30, EVERY_COUNT = 5 };

static int calls;

static void suspend(struct alarm *alarm, void *context)
{
    calls++;
    alarms_suspend(alarm);
}

/* Lets `ms` go by. The alarm rings in the last microsecond, if `rings`, and not before. */
static void pass(struct timers *timers, int32_t ms, bool rings)
{
    int before = calls;
    fake_clock_advance((int64_t)ms * MS - 1);
    timers_run(timers);
    CHECK(calls == before, START, "the alarm rang too early");
    fake_clock_advance(1);
    timers_run(timers);
    CHECK(calls == before + rings, START, "the alarm %s when its time was over",
          rings ? "did not ring" : "rang");
}

/* An alarm of `count` replies that has rung PAUSE_MS ago, and whose reply is owed. It gets `ms`,
 * and has to ring `due_ms` from now. */
static void owed_alarm(int32_t count, int32_t ms, bool from_now, int32_t due_ms)
{
    check_case();
    fake_clock_begin();
    struct timers *timers = timers_new();
    struct alarms *alarms = timers != NULL ? alarms_new(timers, suspend, NULL) : NULL;
    if (alarms == NULL)
        check_impossible("no memory");
    check_step("calls alarms_add() for %" PRId32 " replies, %d ms apart", count, FIRST_MS);
    struct bytes text = {(const uint8_t *)"x", 1};
    struct alarm *alarm = alarms_add(alarms, 10, 1, FIRST_MS, count, text);
    CHECK(alarm != NULL, START, "alarms_add() returned NULL");
    pass(timers, FIRST_MS, true);
    pass(timers, PAUSE_MS, false);
    check_step("calls alarms_reset() for %" PRId32 " ms, from_now is %s", ms,
               from_now ? "true" : "false");
    CHECK(alarms_reset(alarm, ms, from_now), START, "alarms_reset() returned false");
    if (due_ms > 0)
        pass(timers, due_ms, true);
    else
        timers_run(timers);
    CHECK(calls > 0 && alarm->is_owed, START, "the alarm did not ring when its time was over");
    alarms_free(alarms);
    alarms_free_now();
    timers_free(timers);
}

static void owed(void)
{
    for (int32_t count = 1; count <= EVERY_COUNT; count += EVERY_COUNT - 1) {
        owed_alarm(count, 50, true, 50);
        owed_alarm(count, 50, false, 50 - PAUSE_MS);
        owed_alarm(count, PAUSE_MS / 2, false, 0);
    }
}

const struct check checks[] = {
    {"owed", owed},
    {0},
};

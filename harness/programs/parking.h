/* Coroutines that wait for descriptors: with an event manager that is looked at, and a clock that
 * goes on when the check says so. */
#ifndef PARKING_H
#define PARKING_H

#include "scheduling.h"
#include "watching.h"

#include "clock.h"
#include "co_io.h"

enum {
    ROOM = 64,      /* bytes to read at a time */
    IN_VAIN_MAX = 2 /* waits that may end with nothing: the first one may be a try */
};

static struct events *events;

static inline void begin_io(void)
{
    begin_case(STACK_BYTES);
    events = new_events();
}

static inline void end_io(void)
{
    free_events(events);
    end_case();
}

/* A turn of the loop. */
static inline void loop_once(void)
{
    events_turn(events, 0);
    timers_run(timers);
    co_run(scheduler);
}

/* As many turns as everything takes that can be done now. Then nobody is ready. */
static inline void settle(const char *hint)
{
    check_step("makes turns of the loop, until nothing more happens");
    for (int i = 0; i < RUNS; i++)
        loop_once();
    for (int i = 0; i < RUNS && co_is_ready(scheduler); i++)
        loop_once();
    CHECK(!co_is_ready(scheduler), hint,
          "nothing happens, and a coroutine is ready in each turn of the loop: it does not wait");
}

static inline const char *name_of_io(enum io_result result)
{
    switch (result) {
    case IO_OK:
        return "IO_OK";
    case IO_AGAIN:
        return "IO_AGAIN";
    case IO_EOF:
        return "IO_EOF";
    case IO_ERROR:
        return "IO_ERROR";
    case IO_LATE:
        return "IO_LATE";
    case IO_CANCELLED:
        return "IO_CANCELLED";
    }
    return "a number of no result";
}

static inline void send_text(struct pair pair, const char *text)
{
    check_step("sends \"%s\" to descriptor %d", text, pair.fd);
    if (write(pair.peer, text, strlen(text)) != (ssize_t)strlen(text))
        check_impossible("write: %s", strerror(errno));
}

#endif

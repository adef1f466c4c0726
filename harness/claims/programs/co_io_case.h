/* Coroutines that wait for descriptors: with an event manager that is looked at, and a clock that
 * goes on when the check says so. */
#ifndef GRADER_CO_IO_CASE_H
#define GRADER_CO_IO_CASE_H

#include "co_case.h"
#include "co_io.h"
#include "fake_clock.h"
#include "watched_events.h"

enum {
    ROOM = 64,      /* bytes to read at a time */
    IN_VAIN_MAX = 2 /* waits that may end with nothing: the first one may be a try */
};

void co_io_case_begin(void);

void co_io_case_end(void);

/* An iteration of the loop. */
void co_io_case_turn(void);

/* As many iterations as it takes until no coroutine is ready. */
void co_io_case_settle(const char *hint);

const char *co_io_case_result_name(enum io_result result);

void pair_send_text(struct pair pair, const char *text);

#endif

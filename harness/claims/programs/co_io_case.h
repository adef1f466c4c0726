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

/* A coroutine that reads from a pair of sockets */

#define READINESS "co-readiness"

/* A coroutine that reads, once each time it is asked to. */
struct co_reader {
    struct pair pair;
    struct co_socket socket;
    struct buffer in;
    struct coroutine *co; /* NULL: it has ended */
    int timeout_ms;
    bool ends;        /* it is to end when it is asked next */
    bool reads;       /* it is in co_read, or has still to call it */
    bool takes_again; /* IO_AGAIN is what it expects, too */
    enum io_result result;
    int in_vain; /* calls of co_read that have ended with IO_AGAIN */
};

void co_reader_read(struct co_reader *r);

void co_reader_begin(struct co_reader *r);

/* It calls co_read, and runs until that waits. */
void co_reader_ask(struct co_reader *r);

/* Input comes, and ends its wait. */
void co_reader_gets(struct co_reader *r, const char *text, const char *hint);

void co_reader_end(struct co_reader *r);

void co_reader_expect_waiting(const struct co_reader *r, const char *hint);

void co_reader_expect_result(const struct co_reader *r, enum io_result due, const char *hint);

void co_reader_expect_text(struct co_reader *r, const char *due, const char *hint);

#endif

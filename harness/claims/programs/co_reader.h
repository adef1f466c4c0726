/* A coroutine that reads from a pair of sockets. */
#ifndef GRADER_CO_READER_H
#define GRADER_CO_READER_H

#include "co_io_case.h"

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

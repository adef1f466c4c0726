/* A coroutine that reads from a pair of sockets, once each time it is asked to. */
#ifndef READING_H
#define READING_H

#include "parking.h"

#define NEWS "co-news"

/* A coroutine that reads, once each time it is asked to. */
struct reader {
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

static inline void read_once(struct reader *r)
{
    size_t moved = 0;
    int before = r->in_vain;
    do {
        r->result = co_read(&r->socket, &r->in, ROOM, &moved, r->timeout_ms);
        r->in_vain += r->result == IO_AGAIN;
        CHECK(r->in_vain - before <= IN_VAIN_MAX || r->takes_again, NEWS,
              "co_read() has returned %d times with IO_AGAIN, and nobody has called co_wake()",
              r->in_vain - before);
    } while (r->result == IO_AGAIN && !r->takes_again);
    r->reads = false;
}

static inline void read_when_asked(void *argument)
{
    struct reader *r = argument;
    while (!r->ends) {
        if (r->reads)
            read_once(r);
        while (!r->ends && !r->reads)
            co_park(-1);
    }
    r->co = NULL;
}

static inline void begin_reader(struct reader *r)
{
    *r = (struct reader){.pair = new_pair(3), .timeout_ms = -1};
    co_socket_init(&r->socket, r->pair.fd, events);
    r->co = start("reads", read_when_asked, r);
    co_run(scheduler);
}

/* It calls co_read, and goes so far as it gets. */
static inline void ask(struct reader *r)
{
    check_step("has a coroutine call co_read() for descriptor %d", r->pair.fd);
    r->reads = true;
    co_wake(r->co);
    settle(NEWS);
}

static inline void end_reader(struct reader *r)
{
    r->ends = true;
    co_wake(r->co);
    settle(NEWS);
    co_forget(&r->socket);
    buffer_free(&r->in);
}

static inline void expect_waiting(const struct reader *r, const char *hint)
{
    CHECK(r->reads, hint, "co_read() has returned %s, and nothing has come for it",
          name_of_io(r->result));
}

static inline void expect_result(const struct reader *r, enum io_result due, const char *hint)
{
    CHECK(!r->reads, hint, "a coroutine still waits in co_read(); %s is due", name_of_io(due));
    CHECK(r->result == due, hint, "co_read() has returned %s; due is %s", name_of_io(r->result),
          name_of_io(due));
}

static inline void expect_text(struct reader *r, const char *due, const char *hint)
{
    expect_result(r, IO_OK, hint);
    check_equal(hint, "what co_read() has read", (struct check_bytes){due, strlen(due)},
                (struct check_bytes){buffer_head(&r->in), buffer_len(&r->in)});
    buffer_free(&r->in);
}

#endif

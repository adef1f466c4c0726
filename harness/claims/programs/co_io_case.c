#include "co_io_case.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void co_io_case_begin(void)
{
    co_case_begin(STACK_BYTES);
    fake_clock_begin();
    watched_begin();
}

void co_io_case_end(void)
{
    watched_end();
    co_case_end();
}

void co_io_case_turn(void)
{
    events_turn(watched_events, 0);
    timers_run(co_case_timers);
    co_run(co_case_scheduler);
}

void co_io_case_settle(const char *hint)
{
    check_step("runs iterations of the loop, until nothing more happens");
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    for (int i = 0; i < RUNS && co_is_ready(co_case_scheduler); i++)
        co_io_case_turn();
    CHECK(!co_is_ready(co_case_scheduler), hint,
          "nothing happens, but a coroutine is ready in each iteration of the loop: it does not "
          "wait");
}

const char *co_io_case_result_name(enum io_result result)
{
    static const char *const names[] = {
        [IO_OK] = "IO_OK",       [IO_AGAIN] = "IO_AGAIN", [IO_EOF] = "IO_EOF",
        [IO_ERROR] = "IO_ERROR", [IO_LATE] = "IO_LATE",   [IO_CANCELLED] = "IO_CANCELLED"};
    return (unsigned)result <= IO_CANCELLED ? names[result] : "an unknown result";
}

void pair_send_text(struct pair pair, const char *text)
{
    check_step("sends \"%s\" to descriptor %d", text, pair.fd);
    if (write(pair.peer, text, strlen(text)) != (ssize_t)strlen(text))
        check_impossible("write: %s", strerror(errno));
}

/* A coroutine that reads from a pair of sockets */

void co_reader_read(struct co_reader *r)
{
    int before = r->in_vain;
    do {
        size_t moved = 1; /* co_read() writes it, and has nothing to learn from it */
        r->result = co_read(&r->socket, &r->in, ROOM, &moved, r->timeout_ms);
        r->in_vain += r->result == IO_AGAIN;
        CHECK(r->in_vain - before <= IN_VAIN_MAX || r->takes_again, READINESS,
              "co_read() returned %d times with IO_AGAIN, but co_wake() was not called",
              r->in_vain - before);
    } while (r->result == IO_AGAIN && !r->takes_again);
    r->reads = false;
}

static void read_when_asked(void *argument)
{
    struct co_reader *r = argument;
    while (!r->ends) {
        if (r->reads)
            co_reader_read(r);
        while (!r->ends && !r->reads)
            co_park(-1);
    }
    r->co = NULL;
}

void co_reader_begin(struct co_reader *r)
{
    *r = (struct co_reader){.pair = pair_new(3), .timeout_ms = -1};
    co_socket_init(&r->socket, r->pair.fd, watched_events);
    r->co = co_case_start("reads", read_when_asked, r);
    co_run(co_case_scheduler);
}

void co_reader_ask(struct co_reader *r)
{
    check_step("has a coroutine call co_read() for descriptor %d", r->pair.fd);
    r->reads = true;
    co_wake(r->co);
    co_io_case_settle(READINESS);
}

void co_reader_gets(struct co_reader *r, const char *text, const char *hint)
{
    pair_send_text(r->pair, text);
    co_io_case_settle(hint);
    co_reader_expect_text(r, text, hint);
}

static void forget(void *argument)
{
    struct co_reader *r = argument;
    co_forget(&r->socket);
}

void co_reader_end(struct co_reader *r)
{
    r->ends = true;
    co_wake(r->co);
    co_io_case_settle(READINESS);
    co_case_start("forgets", forget, r); /* may wait for what is in flight */
    co_io_case_settle(READINESS);
    buffer_free(&r->in);
    spare_free(); /* the block that is kept for the next buffer */
}

void co_reader_expect_waiting(const struct co_reader *r, const char *hint)
{
    CHECK(r->reads, hint, "co_read() returned %s, but nothing had happened",
          co_io_case_result_name(r->result));
}

void co_reader_expect_result(const struct co_reader *r, enum io_result due, const char *hint)
{
    CHECK(!r->reads, hint, "a coroutine still waits in co_read(), but %s is due",
          co_io_case_result_name(due));
    CHECK(r->result == due, hint, "co_read() returned %s; due is %s",
          co_io_case_result_name(r->result), co_io_case_result_name(due));
}

void co_reader_expect_text(struct co_reader *r, const char *due, const char *hint)
{
    co_reader_expect_result(r, IO_OK, hint);
    check_equal(hint, "the bytes of co_read()", due, strlen(due), buffer_head(&r->in),
                buffer_len(&r->in));
    buffer_free(&r->in);
}

/* Coroutines that read: what ends their waits, what they own meanwhile, and how they come to the
 * end of the input.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_io_case.h"

#define READ "co-read"

enum { READERS = 5, ROUNDS = 3, WAIT_MS = 40, HELD_BYTES = 3, HOSE_BYTES = 64 << 10 };

/* Readiness */

static void only_the_ready(void)
{
    static struct co_reader readers[READERS];
    co_io_case_begin();
    for (int i = 0; i < READERS; i++)
        co_reader_begin(&readers[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < READERS; i++)
            co_reader_ask(&readers[i]);
        for (int i = READERS - 1; i >= 0; i--) {
            for (int k = 0; k <= i; k++)
                co_reader_expect_waiting(&readers[k], READINESS);
            co_reader_gets(&readers[i], "input", READINESS);
        }
    }
    for (int i = 0; i < READERS; i++)
        co_reader_end(&readers[i]);
    co_io_case_end();
}

static int woken;

static void wait_elsewhere(void *argument)
{
    struct co_reader *r = argument;
    co_reader_read(r);
    co_park(-1);
    woken++;
    r->co = NULL;
}

/* Readiness wakes only a coroutine that waits for it; if none waits, it is kept. */
static void readiness_without_a_wait(void)
{
    struct co_reader reader;
    co_io_case_begin();
    reader = (struct co_reader){.pair = pair_new(3), .timeout_ms = -1, .reads = true};
    co_socket_init(&reader.socket, reader.pair.fd, watched_events);
    woken = 0;
    check_step("has a coroutine call co_read(), then co_park(-1)");
    reader.co = co_case_start("reads once", wait_elsewhere, &reader);
    co_io_case_settle(READINESS);
    co_reader_gets(&reader, "first", READINESS);
    pair_send_text(reader.pair, "later");
    co_io_case_settle(READINESS);
    CHECK(woken == 0, READINESS, "a ready socket woke a coroutine that does not wait for it");
    watched_expect_interest(reader.pair.fd, 0, READINESS);
    co_wake(reader.co);
    co_io_case_settle(READINESS);
    reader.reads = true;
    check_step("has another coroutine call co_read()");
    reader.co = co_case_start("reads once", wait_elsewhere, &reader);
    co_io_case_settle(READINESS);
    co_reader_expect_text(&reader, "later", READINESS);
    co_wake(reader.co);
    co_io_case_settle(READINESS);
    co_forget(&reader.socket);
    co_io_case_end();
}

static void readiness(void)
{
    only_the_ready();
    readiness_without_a_wait();
}

/* Ends of a wait, and with what it ends */

/* A case with a coroutine that has read before: the first co_read() may be a try. */
static void begin_after_a_read(struct co_reader *r)
{
    co_io_case_begin();
    co_reader_begin(r);
    co_reader_ask(r);
    co_reader_gets(r, "first", READINESS);
}

static void in_time(void)
{
    struct co_reader r;
    begin_after_a_read(&r);
    r.timeout_ms = WAIT_MS;
    co_reader_ask(&r);
    fake_clock_advance(WAIT_MS * MS - 1);
    co_io_case_settle(READINESS);
    co_reader_expect_waiting(&r, READINESS);
    fake_clock_advance(1);
    co_io_case_settle(READINESS);
    co_reader_expect_result(&r, IO_LATE, READINESS);
    co_reader_ask(&r);
    fake_clock_advance(WAIT_MS * MS - 1);
    co_reader_gets(&r, "in time", READINESS);
    CHECK(timers_timeout(co_case_timers) == -1, READINESS,
          "no coroutine waits for a deadline, but a timer is set");
    co_reader_end(&r);
    co_io_case_end();
}

static void woken_for_something_else(void)
{
    struct co_reader r;
    begin_after_a_read(&r);
    r.takes_again = true;
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READINESS);
    check_step("calls co_wake()");
    co_wake(r.co);
    co_io_case_settle(READINESS);
    co_reader_expect_result(&r, IO_AGAIN, READINESS);
    r.takes_again = false;
    co_reader_ask(&r);
    co_reader_gets(&r, "input", READINESS);
    co_reader_end(&r);
    co_io_case_end();
}

enum how { BY_CANCEL, BY_FORGET };

static void cancelled(enum how how)
{
    static const char *const calls[] = {"co_cancel()", "co_forget()"};
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READINESS);
    check_step("calls %s", calls[how]);
    if (how == BY_CANCEL)
        co_cancel(r.co);
    else
        co_forget(&r.socket);
    r.ends = true;
    co_io_case_settle(READINESS);
    co_reader_expect_result(&r, IO_CANCELLED, READINESS);
    CHECK(r.co == NULL, READINESS, "the coroutine was cancelled, but has not finished");
    co_reader_end(&r);
    watched_expect_interest(r.pair.fd, 0, READINESS);
    co_io_case_end();
}

static void ends(void)
{
    in_time();
    woken_for_something_else();
    cancelled(BY_CANCEL);
    cancelled(BY_FORGET);
}

/* What a buffer owns meanwhile */

static void owns_nothing(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    for (int round = 0; round < ROUNDS; round++) {
        co_reader_ask(&r);
        co_reader_expect_waiting(&r, READ);
        if (round > 0)
            CHECK(r.in.block == NULL, READ,
                  "while co_read() waits, a buffer that was empty owns %zu bytes", r.in.block->cap);
        int before = r.in_vain;
        co_reader_gets(&r, "input", READ);
        CHECK(r.in_vain == before, READ, "the socket was ready, but co_read() returned IO_AGAIN");
    }
    CHECK(r.in_vain <= 1, READ,
          "each of %d reads took everything, but co_read() made one more in vain", ROUNDS);
    co_reader_end(&r);
    co_io_case_end();
}

/* Bytes that are there already stay in front. */
static void keeps_the_rest(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    pair_send_text(r.pair, "abc");
    co_io_case_settle(READ);
    co_reader_expect_result(&r, IO_OK, READ);
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READ);
    CHECK(buffer_len(&r.in) == HELD_BYTES, READ,
          "while co_read() waits, %zu of %d bytes are left of what the buffer held",
          buffer_len(&r.in), HELD_BYTES);
    pair_send_text(r.pair, "def");
    co_io_case_settle(READ);
    co_reader_expect_text(&r, "abcdef", READ);
    co_reader_end(&r);
    co_io_case_end();
}

static void owns(void)
{
    owns_nothing();
    keeps_the_rest();
}

/* To the end of the input */

static void expect_bytes(struct co_reader *r, size_t due)
{
    co_reader_expect_result(r, IO_OK, READ);
    CHECK(buffer_len(&r->in) == due, READ, "co_read() read %zu bytes; due are %zu",
          buffer_len(&r->in), due);
    buffer_free(&r->in);
}

/* So many bytes come at once, with the end of the input or without. */
static void all_that_comes(size_t size, bool end)
{
    static const char zeros[4 * ROOM];
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    check_step("sends %zu bytes%s", size, end ? " and shuts down" : "");
    if (size > 0 && write(r.pair.peer, zeros, size) != (ssize_t)size)
        check_impossible("write: %s", strerror(errno));
    if (end)
        shutdown(r.pair.peer, SHUT_WR);
    co_io_case_settle(READ);
    for (size_t left = size; left > 0;) {
        size_t due = left < ROOM ? left : ROOM;
        expect_bytes(&r, due);
        left -= due;
        co_reader_ask(&r);
    }
    if (end) {
        co_reader_expect_result(&r, IO_EOF, READ);
    } else {
        co_reader_expect_waiting(&r, READ);
        co_reader_gets(&r, "more", READ);
    }
    co_reader_end(&r);
    co_io_case_end();
}

static void to_the_end(void)
{
    static const size_t sizes[] = {0, 5, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM, 3 * ROOM + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        all_that_comes(sizes[i], true);
        if (sizes[i] > 0)
            all_that_comes(sizes[i], false);
    }
}

/* In turns */

struct hose {
    struct co_socket socket;
    size_t bytes;
    int reads;
    bool stops;
};

static void read_all_the_time(void *argument)
{
    struct hose *h = argument;
    struct buffer in = {0};
    while (!h->stops) {
        size_t moved = 0;
        co_read(&h->socket, &in, ROOM, &moved, -1);
        h->reads++;
        h->bytes += moved;
        buffer_free(&in);
    }
}

static void in_turns(void)
{
    static const char zeros[HOSE_BYTES];
    struct hose hose = {0};
    co_io_case_begin();
    struct pair pair = pair_new(3);
    check_step("sends %d bytes; a coroutine reads them %d at a time", HOSE_BYTES, ROOM);
    if (write(pair.peer, zeros, HOSE_BYTES) != HOSE_BYTES)
        check_impossible("write: %s", strerror(errno));
    co_socket_init(&hose.socket, pair.fd, watched_events);
    co_case_start("hose", read_all_the_time, &hose);
    for (int i = 0; i < RUNS; i++) {
        int before = hose.reads;
        co_io_case_turn();
        CHECK(hose.reads - before <= 1, READ,
              "a coroutine read %d times in one iteration, while the others waited",
              hose.reads - before);
    }
    CHECK(hose.reads >= RUNS - 2, READ, "in %d iterations a coroutine read %s", RUNS,
          check_times(hose.reads));
    hose.stops = true;
    co_forget(&hose.socket);
    co_io_case_settle(READ);
    co_io_case_end();
}

const struct check checks[] = {
    {"readiness", readiness},   {"ends", ends},         {"owns", owns},
    {"to_the_end", to_the_end}, {"in_turns", in_turns}, {0},
};

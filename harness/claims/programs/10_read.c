/* Coroutines that wait for input: what ends their waits.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include "co_reader.h"

enum { READERS = 5, ROUNDS = 3, WAIT_MS = 40 };

/* It waits for something else now, and may not be disturbed. */
static void expect_watch(const struct co_reader *r, unsigned due)
{
    unsigned watched = events_interest(co_io_case_events, r->pair.fd);
    CHECK(watched == due, READINESS, "descriptor %d is watched for %s; due is %s", r->pair.fd,
          watched_names_of(watched), watched_names_of(due));
}

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
            pair_send_text(readers[i].pair, "input");
            co_io_case_settle(READINESS);
            co_reader_expect_text(&readers[i], "input", READINESS);
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
    co_socket_init(&reader.socket, reader.pair.fd, co_io_case_events);
    woken = 0;
    check_step("has a coroutine call co_read(), then co_park(-1)");
    reader.co = co_case_start("reads once", wait_elsewhere, &reader);
    co_io_case_settle(READINESS);
    pair_send_text(reader.pair, "first");
    co_io_case_settle(READINESS);
    co_reader_expect_text(&reader, "first", READINESS);
    pair_send_text(reader.pair, "later");
    co_io_case_settle(READINESS);
    CHECK(woken == 0, READINESS, "a ready socket woke a coroutine that does not wait for it");
    expect_watch(&reader, 0);
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

static void in_time(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    pair_send_text(r.pair, "first");
    co_io_case_settle(READINESS);
    co_reader_expect_text(&r, "first", READINESS);
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
    pair_send_text(r.pair, "in time");
    co_io_case_settle(READINESS);
    co_reader_expect_text(&r, "in time", READINESS);
    CHECK(timers_timeout(co_case_timers) == -1, READINESS,
          "no coroutine waits for a deadline, but a timer is set");
    co_reader_end(&r);
    co_io_case_end();
}

static void woken_for_something_else(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    pair_send_text(r.pair, "first");
    co_io_case_settle(READINESS);
    co_reader_expect_text(&r, "first", READINESS);
    r.takes_again = true;
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READINESS);
    check_step("calls co_wake()");
    co_wake(r.co);
    co_io_case_settle(READINESS);
    co_reader_expect_result(&r, IO_AGAIN, READINESS);
    r.takes_again = false;
    co_reader_ask(&r);
    pair_send_text(r.pair, "input");
    co_io_case_settle(READINESS);
    co_reader_expect_text(&r, "input", READINESS);
    co_reader_end(&r);
    co_io_case_end();
}

enum how { BY_CANCEL, BY_FORGET, BY_EVENTS };

static void cancelled(enum how how)
{
    static const char *const calls[] = {"co_cancel()", "co_forget()", "events_cancel_all()"};
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READINESS);
    check_step("calls %s", calls[how]);
    if (how == BY_CANCEL)
        co_cancel(r.co);
    else if (how == BY_FORGET)
        co_forget(&r.socket);
    else
        events_cancel_all(co_io_case_events, r.pair.fd);
    r.ends = true;
    co_io_case_settle(READINESS);
    co_reader_expect_result(&r, IO_CANCELLED, READINESS);
    CHECK(r.co == NULL, READINESS, "the coroutine was cancelled, but has not finished");
    co_reader_end(&r);
    expect_watch(&r, 0);
    co_io_case_end();
}

/* Without an event: there is none where operations complete. */
static void ends_here(void)
{
    in_time();
    woken_for_something_else();
    cancelled(BY_CANCEL);
    cancelled(BY_FORGET);
}

static void ends(void)
{
    ends_here();
    cancelled(BY_EVENTS);
}

const struct check checks[] = {
    {"readiness", readiness},
    {"ends", ends},
    {"ends_here", ends_here},
    {0},
};

/* Coroutines that wait for input: what ends their waits.
 * links: co_io.c co.c stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend.c backend_select.c backend_poll.c backend_epoll.c */
#include "reading.h"

enum { READERS = 5, ROUNDS = 3, WAIT_MS = 40 };

/* It waits for something else now, and may not be disturbed. */
static void expect_watch(const struct reader *r, unsigned due)
{
    unsigned watched = events_interest(events, r->pair.fd);
    CHECK(watched == due, NEWS, "descriptor %d is watched for %s; due is %s", r->pair.fd,
          names_of(watched), names_of(due));
}

/* News */

static void only_who_has_news(void)
{
    static struct reader readers[READERS];
    begin_io();
    for (int i = 0; i < READERS; i++)
        begin_reader(&readers[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < READERS; i++)
            ask(&readers[i]);
        for (int i = READERS - 1; i >= 0; i--) {
            for (int k = 0; k <= i; k++)
                expect_waiting(&readers[k], NEWS);
            send_text(readers[i].pair, "news");
            settle(NEWS);
            expect_text(&readers[i], "news", NEWS);
        }
    }
    for (int i = 0; i < READERS; i++)
        end_reader(&readers[i]);
    end_io();
}

static int woken;

static void wait_elsewhere(void *argument)
{
    struct reader *r = argument;
    read_once(r);
    co_park(-1);
    woken++;
    r->co = NULL;
}

/* The news of a socket are for who waits for them; if it is nobody, they are kept. */
static void news_without_a_wait(void)
{
    struct reader reader;
    begin_io();
    reader = (struct reader){.pair = new_pair(3), .timeout_ms = -1, .reads = true};
    co_socket_init(&reader.socket, reader.pair.fd, events);
    woken = 0;
    check_step("has a coroutine call co_read(), then co_park(-1)");
    reader.co = start("reads once", wait_elsewhere, &reader);
    settle(NEWS);
    send_text(reader.pair, "first");
    settle(NEWS);
    expect_text(&reader, "first", NEWS);
    send_text(reader.pair, "later");
    settle(NEWS);
    CHECK(woken == 0, NEWS, "news of a socket have woken a coroutine that does not wait for them");
    expect_watch(&reader, 0);
    co_wake(reader.co);
    settle(NEWS);
    reader.reads = true;
    check_step("has another coroutine call co_read()");
    reader.co = start("reads once", wait_elsewhere, &reader);
    settle(NEWS);
    expect_text(&reader, "later", NEWS);
    co_wake(reader.co);
    settle(NEWS);
    co_forget(&reader.socket);
    end_io();
}

static void news(void)
{
    only_who_has_news();
    news_without_a_wait();
}

/* Ends of a wait, and with what it ends */

static void in_time(void)
{
    struct reader r;
    begin_io();
    begin_reader(&r);
    ask(&r);
    send_text(r.pair, "first");
    settle(NEWS);
    expect_text(&r, "first", NEWS);
    r.timeout_ms = WAIT_MS;
    ask(&r);
    clock_goes_on(WAIT_MS * MS - 1);
    settle(NEWS);
    expect_waiting(&r, NEWS);
    clock_goes_on(1);
    settle(NEWS);
    expect_result(&r, IO_LATE, NEWS);
    ask(&r);
    clock_goes_on(WAIT_MS * MS - 1);
    send_text(r.pair, "in time");
    settle(NEWS);
    expect_text(&r, "in time", NEWS);
    CHECK(timers_timeout(timers) == -1, NEWS, "nobody waits for a time, and a timer is set");
    end_reader(&r);
    end_io();
}

static void woken_for_something_else(void)
{
    struct reader r;
    begin_io();
    begin_reader(&r);
    ask(&r);
    send_text(r.pair, "first");
    settle(NEWS);
    expect_text(&r, "first", NEWS);
    r.takes_again = true;
    ask(&r);
    expect_waiting(&r, NEWS);
    check_step("calls co_wake()");
    co_wake(r.co);
    settle(NEWS);
    expect_result(&r, IO_AGAIN, NEWS);
    r.takes_again = false;
    ask(&r);
    send_text(r.pair, "news");
    settle(NEWS);
    expect_text(&r, "news", NEWS);
    end_reader(&r);
    end_io();
}

enum how { BY_CANCEL, BY_FORGET, BY_EVENTS, HOWS };

static void cancelled(enum how how)
{
    static const char *const calls[] = {"co_cancel()", "co_forget()", "events_cancel_all()"};
    struct reader r;
    begin_io();
    begin_reader(&r);
    ask(&r);
    expect_waiting(&r, NEWS);
    check_step("calls %s", calls[how]);
    if (how == BY_CANCEL)
        co_cancel(r.co);
    else if (how == BY_FORGET)
        co_forget(&r.socket);
    else
        events_cancel_all(events, r.pair.fd);
    r.ends = true;
    settle(NEWS);
    expect_result(&r, IO_CANCELLED, NEWS);
    CHECK(r.co == NULL, NEWS, "the coroutine was cancelled, and has not come to its end");
    end_reader(&r);
    expect_watch(&r, 0);
    end_io();
}

static void ends(void)
{
    in_time();
    woken_for_something_else();
    for (int how = 0; how < HOWS; how++)
        cancelled((enum how)how);
}

const struct check checks[] = {
    {"news", news},
    {"ends", ends},
    {0},
};

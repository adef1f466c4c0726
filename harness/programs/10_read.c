/* Coroutines that wait for input, on pairs of sockets.
 * links: co_io.c co.c stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend.c backend_select.c backend_poll.c backend_epoll.c */
#include "parking.h"

#define NEWS "co-news"
#define READ "co-read"

enum { READERS = 5, ROUNDS = 3, WAIT_MS = 40, HELD_BYTES = 3, HOSE_BYTES = 64 << 10 };

/* A coroutine that reads, once each time it is asked to. */
struct reader {
    struct pair pair;
    struct co_socket socket;
    struct buffer in;
    struct coroutine *co; /* NULL: it has ended */
    int timeout_ms;
    bool ends;  /* it is to end when it is asked next */
    bool reads; /* it is in co_read, or has still to call it */
    bool takes_again; /* IO_AGAIN is what it expects, too */
    enum io_result result;
    int in_vain; /* calls of co_read that have ended with IO_AGAIN */
};

static void read_once(struct reader *r)
{
    size_t moved = 0;
    do {
        r->result = co_read(&r->socket, &r->in, ROOM, &moved, r->timeout_ms);
        r->in_vain += r->result == IO_AGAIN;
        CHECK(r->in_vain <= IN_VAIN_MAX || r->takes_again, NEWS,
              "co_read() has returned %d times with IO_AGAIN, and nobody has called co_wake()",
              r->in_vain);
    } while (r->result == IO_AGAIN && !r->takes_again);
    r->reads = false;
}

static void read_when_asked(void *argument)
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

static void begin_reader(struct reader *r)
{
    *r = (struct reader){.pair = new_pair(3), .timeout_ms = -1};
    co_socket_init(&r->socket, r->pair.fd, events);
    r->co = start("reads", read_when_asked, r);
    co_run(scheduler);
}

/* It calls co_read, and goes so far as it gets. */
static void ask(struct reader *r)
{
    check_step("a coroutine calls co_read() for descriptor %d", r->pair.fd);
    r->reads = true;
    co_wake(r->co);
    settle(NEWS);
}

static void end_reader(struct reader *r)
{
    r->ends = true;
    co_wake(r->co);
    settle(NEWS);
    co_forget(&r->socket);
    buffer_free(&r->in);
}

static void expect_waiting(const struct reader *r, const char *hint)
{
    CHECK(r->reads, hint, "co_read() has returned %s, and nothing has come for it",
          name_of_io(r->result));
}

static void expect_result(const struct reader *r, enum io_result due, const char *hint)
{
    CHECK(!r->reads, hint, "a coroutine still waits in co_read(); %s is due", name_of_io(due));
    CHECK(r->result == due, hint, "co_read() has returned %s; due is %s", name_of_io(r->result),
          name_of_io(due));
}

static void expect_text(struct reader *r, const char *due, const char *hint)
{
    expect_result(r, IO_OK, hint);
    check_equal(hint, "what co_read() has read", (struct check_bytes){due, strlen(due)},
                (struct check_bytes){buffer_head(&r->in), buffer_len(&r->in)});
    buffer_free(&r->in);
}

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
    check_step("a coroutine calls co_read(), then co_park(-1)");
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
    check_step("another coroutine calls co_read()");
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

/* What a buffer owns meanwhile */

static void owns_nothing(void)
{
    struct reader r;
    begin_io();
    begin_reader(&r);
    for (int round = 0; round < ROUNDS; round++) {
        ask(&r);
        expect_waiting(&r, READ);
        if (round > 0)
            CHECK(r.in.cap == 0, READ, "while co_read() waits, a buffer that was empty owns %zu bytes",
                  r.in.cap);
        int before = r.in_vain;
        send_text(r.pair, "news");
        settle(READ);
        expect_text(&r, "news", READ);
        CHECK(r.in_vain == before, READ, "news have come, and co_read() has returned IO_AGAIN");
    }
    CHECK(r.in_vain <= 1, READ,
          "of %d reads, each of which took all there was, co_read() made one more in vain", ROUNDS);
    end_reader(&r);
    end_io();
}

/* Bytes that are there already stay in front. */
static void keeps_the_rest(void)
{
    struct reader r;
    begin_io();
    begin_reader(&r);
    ask(&r);
    send_text(r.pair, "abc");
    settle(READ);
    expect_result(&r, IO_OK, READ);
    ask(&r);
    expect_waiting(&r, READ);
    CHECK(buffer_len(&r.in) == HELD_BYTES, READ,
          "while co_read() waits, %zu of %d bytes are left of what the buffer held",
          buffer_len(&r.in), HELD_BYTES);
    send_text(r.pair, "def");
    settle(READ);
    expect_text(&r, "abcdef", READ);
    end_reader(&r);
    end_io();
}

static void owns(void)
{
    owns_nothing();
    keeps_the_rest();
}

/* To the end of the input */

static void expect_bytes(struct reader *r, size_t due)
{
    expect_result(r, IO_OK, READ);
    CHECK(buffer_len(&r->in) == due, READ, "co_read() has read %zu bytes; due are %zu",
          buffer_len(&r->in), due);
    buffer_free(&r->in);
}

/* So many bytes come at once, with the end of the input or without. */
static void all_that_comes(size_t size, bool end)
{
    static const char zeros[4 * ROOM];
    struct reader r;
    begin_io();
    begin_reader(&r);
    ask(&r);
    check_step("sends %zu bytes%s", size, end ? " and shuts down" : "");
    if (size > 0 && write(r.pair.peer, zeros, size) != (ssize_t)size)
        check_impossible("write: %s", strerror(errno));
    if (end)
        shutdown(r.pair.peer, SHUT_WR);
    settle(READ);
    for (size_t left = size; left > 0;) {
        size_t due = left < ROOM ? left : ROOM;
        expect_bytes(&r, due);
        left -= due;
        ask(&r);
    }
    if (end) {
        expect_result(&r, IO_EOF, READ);
    } else {
        expect_waiting(&r, READ);
        send_text(r.pair, "more");
        settle(READ);
        expect_text(&r, "more", READ);
    }
    end_reader(&r);
    end_io();
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
    begin_io();
    struct pair pair = new_pair(3);
    check_step("sends %d bytes; a coroutine reads them %d at a time", HOSE_BYTES, ROOM);
    if (write(pair.peer, zeros, HOSE_BYTES) != HOSE_BYTES)
        check_impossible("write: %s", strerror(errno));
    co_socket_init(&hose.socket, pair.fd, events);
    start("hose", read_all_the_time, &hose);
    for (int i = 0; i < RUNS; i++) {
        int before = hose.reads;
        loop_once();
        CHECK(hose.reads - before <= 1, READ,
              "a coroutine has read %d times in one turn; others wait meanwhile",
              hose.reads - before);
    }
    CHECK(hose.reads >= RUNS - 2, READ, "in %d turns a coroutine has read %d times", RUNS,
          hose.reads);
    hose.stops = true;
    co_forget(&hose.socket);
    settle(READ);
    end_io();
}

const struct check checks[] = {
    {"news", news},
    {"ends", ends},
    {"owns", owns},
    {"to_the_end", to_the_end},
    {"in_turns", in_turns},
    {0},
};

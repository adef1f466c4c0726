/* Coroutines that read, write, or wait for nothing: what ends their waits, what they own meanwhile,
 * and how all bytes come to the other end.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_io_case.h"
#include "connection.h"

#define READINESS "co-readiness"
#define READ      "co-read"
#define WRITE     "co-write"
#define WAIT      "co-wait"
#define DEAF      "co-deaf"

enum {
    READERS = 5,
    ROUNDS = 3,
    WAIT_MS = 40,
    HELD_BYTES = 3,
    HOSE_BYTES = 64 << 10,
    MUCH_BYTES = 2 << 20, /* more than the kernel takes while the peer does not read */
    MOST = 10000,
    LOOKS = 4000,
    SECOND_MS = 1000
};

static void begin(struct party *p, const char *hint)
{
    co_io_case_begin(hint);
    party_begin(p, pair_new(3));
}

static void end(struct party *p)
{
    party_end(p);
    co_io_case_end();
}

/* Readiness */

static void only_the_ready(void)
{
    static struct party readers[READERS];
    co_io_case_begin(READINESS);
    for (int i = 0; i < READERS; i++)
        party_begin(&readers[i], pair_new(3));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < READERS; i++)
            party_ask(&readers[i], READS);
        for (int i = READERS - 1; i >= 0; i--) {
            for (int k = 0; k <= i; k++)
                party_expect_waiting(&readers[k]);
            party_gets(&readers[i], "input");
        }
    }
    for (int i = 0; i < READERS; i++)
        party_end(&readers[i]);
    co_io_case_end();
}

/* Readiness wakes only a coroutine that waits for it; if none waits, it is kept. */
static void readiness_without_a_wait(void)
{
    struct party p;
    begin(&p, READINESS);
    party_ask(&p, READS);
    party_gets(&p, "first");
    int before = p.wakes;
    pair_send_text(p.pair, "later");
    co_io_case_settle();
    EXPECT(p.wakes == before, "a ready socket woke a coroutine that does not wait for it");
    watched_expect_interest(p.pair.fd, 0, READINESS);
    party_ask(&p, READS);
    party_expect_text(&p, "later");
    end(&p);
}

static void readiness(void)
{
    only_the_ready();
    readiness_without_a_wait();
}

/* How a wait ends, and its result: a wait for input, and a wait for no event */

/* A coroutine that perhaps has read before: then its first try is over. */
static void begin_waiting(struct party *p, enum does does, bool after_a_read, int timeout_ms)
{
    begin(p, does == READS ? READINESS : WAIT);
    if (after_a_read) {
        party_ask(p, READS);
        party_gets(p, "first");
    }
    p->timeout_ms = timeout_ms;
    party_ask(p, does);
    party_expect_waiting(p);
}

static void in_time(enum does does, bool after_a_read)
{
    struct party p;
    begin_waiting(&p, does, after_a_read, WAIT_MS);
    fake_clock_advance(WAIT_MS * MS - 1);
    co_io_case_settle();
    party_expect_waiting(&p);
    fake_clock_advance(1);
    co_io_case_settle();
    party_expect_result(&p, IO_LATE);
    party_ask(&p, READS);
    fake_clock_advance(WAIT_MS * MS - 1);
    party_gets(&p, "in time");
    EXPECT(timers_timeout(co_case_timers) == -1,
           "no coroutine waits for a deadline, but a timer is set");
    end(&p);
}

static void woken_for_something_else(enum does does, bool after_a_read)
{
    struct party p;
    begin_waiting(&p, does, after_a_read, -1);
    party_stop(&p);
    party_ask(&p, READS);
    party_gets(&p, "input");
    end(&p);
}

enum how { BY_CANCEL, BY_FORGET };

static void cancelled(enum does does, enum how how)
{
    struct party p;
    begin_waiting(&p, does, false, -1);
    check_step("calls %s", how == BY_CANCEL ? "co_cancel()" : "co_forget()");
    p.ends = true;
    if (how == BY_CANCEL)
        co_cancel(p.co);
    else
        co_forget(&p.socket);
    co_io_case_settle();
    party_expect_result(&p, IO_CANCELLED);
    EXPECT(p.co == NULL, "the coroutine was cancelled, but has not finished");
    party_end(&p);
    watched_expect_interest(p.pair.fd, 0, co_io_case_hint);
    co_io_case_end();
}

static void each_end(enum does does)
{
    for (int after_a_read = does == READS; after_a_read < 2; after_a_read++) {
        in_time(does, after_a_read);
        woken_for_something_else(does, after_a_read);
    }
    cancelled(does, BY_CANCEL);
    cancelled(does, BY_FORGET);
}

static void ends(void)
{
    each_end(READS);
}

static void waits(void)
{
    each_end(WAITS);
}

/* What a buffer owns meanwhile */

static void owns_nothing(void)
{
    struct party p;
    begin(&p, READ);
    for (int round = 0; round < ROUNDS; round++) {
        party_ask(&p, READS);
        party_expect_waiting(&p);
        if (round > 0)
            EXPECT(p.in.block == NULL,
                   "while co_read() waits, a buffer that was empty owns %zu bytes",
                   p.in.block->cap);
        int before = p.in_vain;
        party_gets(&p, "input");
        EXPECT(p.in_vain == before, "the socket was ready, but co_read() returned IO_AGAIN");
    }
    EXPECT(p.in_vain <= 1, "each of %d reads took everything, but co_read() made one more in vain",
           ROUNDS);
    end(&p);
}

/* Bytes that are there already stay in front. */
static void keeps_the_rest(void)
{
    struct party p;
    begin(&p, READ);
    party_ask(&p, READS);
    pair_send_text(p.pair, "abc");
    co_io_case_settle();
    party_expect_result(&p, IO_OK);
    party_ask(&p, READS);
    party_expect_waiting(&p);
    EXPECT(buffer_len(&p.in) == HELD_BYTES,
           "while co_read() waits, %zu of %d bytes are left of what the buffer held",
           buffer_len(&p.in), HELD_BYTES);
    pair_send_text(p.pair, "def");
    co_io_case_settle();
    party_expect_text(&p, "abcdef");
    end(&p);
}

static void owns(void)
{
    owns_nothing();
    keeps_the_rest();
}

/* To the end of the input */

/* So many bytes come at once, with the end of the input or without. */
static void all_that_comes(size_t size, bool eof)
{
    struct party p;
    begin(&p, READ);
    party_ask(&p, READS);
    if (size > 0)
        pair_send_data(p.pair, 0, size);
    if (eof) {
        check_step("shuts down its sending side");
        shutdown(p.pair.peer, SHUT_WR);
    }
    co_io_case_settle();
    for (size_t left = size; left > 0;) {
        size_t due = left < ROOM ? left : ROOM;
        party_expect_result(&p, IO_OK);
        check_equal(READ, "the bytes of co_read()", co_io_data + size - left, due,
                    buffer_head(&p.in), buffer_len(&p.in));
        buffer_free(&p.in);
        left -= due;
        party_ask(&p, READS);
    }
    if (eof) {
        party_expect_result(&p, IO_EOF);
    } else {
        party_expect_waiting(&p);
        party_gets(&p, "more");
    }
    end(&p);
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

/* Input without an end: the others get their turn. */
static void in_turns(void)
{
    struct party p;
    begin(&p, READ);
    pair_send_data(p.pair, 0, HOSE_BYTES);
    p.repeats = true;
    party_call(&p, READS);
    for (int i = 0; i < RUNS; i++) {
        int before = p.calls;
        co_io_case_turn();
        EXPECT(p.calls - before <= 1,
               "a coroutine read %d times in one iteration, while the others waited",
               p.calls - before);
    }
    EXPECT(p.calls >= RUNS - 2, "in %d iterations a coroutine read %s", RUNS, check_times(p.calls));
    p.ends = true;
    co_forget(&p.socket);
    end(&p);
}

/* Writing */

static void begin_writing(struct party *p, size_t size)
{
    begin(p, WRITE);
    party_queue(p, size);
    p->most = MOST;
    p->repeats = true;
    party_call(p, WRITES);
}

/* Bytes that the kernel takes at once are sent without a wait, a part in each iteration. */
static void at_once(void)
{
    struct party p;
    begin_writing(&p, 3 * MOST);
    for (int i = 1; i <= 3; i++) {
        co_io_case_turn();
        EXPECT(p.calls <= i, "in %d iterations a coroutine sent %d times, while the others waited",
               i, p.calls);
    }
    co_io_case_settle();
    EXPECT(p.does == PARKS, "the kernel has space for %d bytes, but co_write() waits", 3 * MOST);
    party_expect_arrived(&p);
    end(&p);
}

static void when_the_peer_reads(void)
{
    struct party p;
    int pauses = 0;
    begin_writing(&p, MUCH_BYTES);
    co_io_case_settle();
    party_expect_waiting(&p);
    while (p.taken < MUCH_BYTES) {
        check_step("reads at the peer what has arrived");
        EXPECT(party_take(&p) > 0,
               "the peer has read everything, but no more is sent: %zu of %d bytes have come",
               p.taken, MUCH_BYTES);
        co_io_case_settle();
        pauses++;
    }
    party_expect_result(&p, IO_OK);
    EXPECT(p.in_vain <= 2 * pauses + 2,
           "%d calls of co_write() sent nothing, but the peer paused only %d times", p.in_vain,
           pauses);
    end(&p);
}

static bool other_over;

static void read_too(void *argument)
{
    struct party *p = argument;
    size_t moved = 0;
    enum io_result result;
    do
        result = co_read(&p->socket, &p->in, ROOM, &moved, -1);
    while (result == IO_AGAIN);
    EXPECT(result == IO_CANCELLED, "co_forget() was called, but co_read() returned %s",
           co_io_case_result_name(result));
    other_over = true;
}

/* Of both directions. */
static void forgotten(void)
{
    struct party p;
    begin_writing(&p, MUCH_BYTES);
    other_over = false;
    co_case_start("reads", read_too, &p);
    co_io_case_settle();
    check_step("calls co_forget(); one coroutine waits in co_read(), one in co_write()");
    p.ends = true;
    co_forget(&p.socket);
    co_io_case_settle();
    party_expect_result(&p, IO_CANCELLED);
    EXPECT(other_over, "co_forget() was called, but co_read() still waits");
    watched_expect_interest(p.pair.fd, 0, WRITE);
    end(&p);
}

static void peer_is_gone(void)
{
    struct party p;
    begin_writing(&p, MUCH_BYTES);
    co_io_case_settle();
    check_step("closes the peer");
    pair_close(p.pair.peer);
    co_io_case_settle();
    party_expect_result(&p, IO_ERROR);
    end(&p);
}

static void writes(void)
{
    at_once();
    when_the_peer_reads();
    forgotten();
    peer_is_gone();
}

/* A reset, which ends a wait for nothing */

static void expect_reset(struct party *p)
{
    fake_clock_advance(SECOND_MS * MS); /* one backend looks once a second */
    RUN_UNTIL(p->does == PARKS, LOOKS);
    party_expect_result(p, IO_ERROR);
    EXPECT(p->error == ECONNRESET || p->error == EPIPE, /* EPIPE after EOF, on Linux */
           "the peer has reset the connection; co_wait() returned IO_ERROR, with errno %d (%s)",
           p->error, strerror(p->error));
    EXPECT(co_is_broken(&p->socket),
           "the peer has reset the connection, but co_is_broken() returned false");
    party_end(p);
    close(p->pair.fd);
    co_io_case_end();
}

/* Input and the end of the input are not what it waits for. */
static void reset_after(bool reads, bool input, bool eof)
{
    struct party p;
    co_io_case_begin(DEAF);
    party_begin(&p, connection_new());
    if (reads) {
        party_ask(&p, READS);
        party_gets(&p, "first");
    }
    party_ask(&p, WAITS);
    if (input)
        pair_send_text(p.pair, "more");
    if (eof) {
        check_step("shuts down the sending side of the peer");
        shutdown(p.pair.peer, SHUT_WR);
    }
    co_io_case_settle();
    party_expect_waiting(&p);
    EXPECT(!co_is_broken(&p.socket),
           "the peer has not reset the connection, but co_is_broken() returned true");
    connection_reset(p.pair);
    expect_reset(&p);
}

/* It has arrived before the coroutine waits. */
static void reset_before(void)
{
    struct party p;
    co_io_case_begin(DEAF);
    party_begin(&p, connection_new());
    connection_reset(p.pair);
    party_call(&p, WAITS);
    expect_reset(&p);
}

static void hears(void)
{
    for (int cases = 0; cases < 8; cases++)
        reset_after(cases & 1, cases & 2, cases & 4);
    reset_before();
}

const struct check checks[] = {
    {"readiness", readiness},
    {"ends", ends},
    {"waits", waits},
    {"owns", owns},
    {"to_the_end", to_the_end},
    {"in_turns", in_turns},
    {"writes", writes},
    {"hears", hears},
    {0},
};

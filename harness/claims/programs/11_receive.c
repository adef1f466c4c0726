/* Coroutines that read from a ring of the grader's own: with few buffers, and with every end.
 * links: co_io.c co_uring.c ring.c lent.c backend_uring.c co.c context.c? stack.c timers.c buffer.c
 * links: io.c net.c log.c events.c backend_select.c backend_poll.c backend_epoll.c */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_io_case.h"
#include "fake_ring.h"

#define RECEIVE "ring-receive"

enum {
    READERS = 5,
    BUFFERS = 2,
    SENT_BYTES = 40000,
    FLOOD_BYTES = 4 << 20,
    FLOOD_MOST = 2 << 20, /* far more than sockets and one connection hold */
    TAKEN_BYTES = 4096,
    WAIT_MS = 40,
    TURNS = 2000
};

static uint8_t data[FLOOD_BYTES];

/* A coroutine that reads until its input ends. */
struct reader {
    struct pair pair;
    struct co_socket socket;
    struct coroutine *co;
    size_t offset; /* in `data`, of its next byte */
    bool stops;    /* it waits for something else, and reads nothing */
    int wakes;     /* how often it has returned IO_AGAIN */
    enum io_result result;
    int error; /* errno then */
    bool over;
};

static void read_all(void *argument)
{
    struct reader *r = argument;
    struct buffer in = {0};
    do {
        size_t moved = 0;
        while (r->stops)
            co_park(-1);
        r->result = co_read(&r->socket, &in, TAKEN_BYTES, &moved, -1);
        r->error = errno;
        CHECK(buffer_len(&in) == moved, RECEIVE,
              "co_read() set *moved to %zu, but the buffer has %zu bytes", moved, buffer_len(&in));
        if (moved > 0)
            check_equal(RECEIVE, "the bytes of co_read()", data + r->offset, moved,
                        buffer_head(&in), moved);
        r->offset += moved;
        r->wakes += r->result == IO_AGAIN;
        buffer_free(&in);
    } while (r->result == IO_OK || r->result == IO_AGAIN);
    r->over = true;
}

static void begin_case(unsigned buffers, unsigned late)
{
    fake_ring_plan = (struct fake_ring_plan){.buffers = buffers, .late = late, .hint = RECEIVE};
    co_io_case_begin();
}

static void begin_reader(struct reader *r)
{
    *r = (struct reader){.pair = pair_new(3)};
    co_socket_init(&r->socket, r->pair.fd, watched_events);
    r->co = co_case_start("reads", read_all, r);
}

static void send_bytes(struct reader *r, size_t from, size_t size)
{
    if (write(r->pair.peer, data + from, size) != (ssize_t)size)
        check_impossible("write: %s", strerror(errno));
}

/* It has read 100 bytes, and reads no more until it is to. */
static void begin_unread(struct reader *r, unsigned late)
{
    begin_case(0, late);
    begin_reader(r);
    send_bytes(r, 0, 100);
    co_io_case_settle(RECEIVE);
    r->stops = true;
    co_wake(r->co);
    co_io_case_settle(RECEIVE);
}

static void run_until_over(struct reader *r)
{
    for (int i = 0; i < TURNS && !r->over; i++)
        co_io_case_turn();
    CHECK(r->over, RECEIVE, "%zu bytes have come, and co_read() still waits", r->offset);
}

static void expect_end(struct reader *r, size_t size, enum io_result due, int error)
{
    run_until_over(r);
    CHECK(r->offset == size, RECEIVE, "%zu bytes were sent, but co_read() has read %zu", size,
          r->offset);
    CHECK(r->result == due, RECEIVE, "at the end co_read() returned %s; due is %s",
          co_io_case_result_name(r->result), co_io_case_result_name(due));
    if (due == IO_ERROR)
        CHECK(r->error == error, RECEIVE, "errno is %d (%s); due is %d (%s)", r->error,
              strerror(r->error), error, strerror(error));
}

static void expect_buffers(unsigned due)
{
    CHECK(fake_ring_buffers() == due, RECEIVE,
          "everything is read, and %u of %u lent buffers were given back", fake_ring_buffers(),
          due);
}

/* More clients send than there are buffers. */
static void few_buffers(unsigned late)
{
    static struct reader readers[READERS];
    begin_case(BUFFERS, late);
    check_step("lends %d buffers; %d coroutines read %d bytes each", BUFFERS, READERS, SENT_BYTES);
    for (int i = 0; i < READERS; i++)
        begin_reader(&readers[i]);
    for (int i = 0; i < READERS; i++) {
        send_bytes(&readers[i], 0, SENT_BYTES);
        shutdown(readers[i].pair.peer, SHUT_WR);
    }
    for (int i = 0; i < READERS; i++)
        expect_end(&readers[i], SENT_BYTES, IO_EOF, 0);
    expect_buffers(BUFFERS);
    for (int i = 0; i < READERS; i++)
        co_forget(&readers[i].socket);
    co_io_case_end();
}

static void no_buffer(void)
{
    check_fill(data, sizeof data);
    few_buffers(0);
    few_buffers(2);
}

/* Results that are no input */

static void ended_with(int result, enum io_result due, int error)
{
    struct reader r;
    begin_case(0, 0);
    begin_reader(&r);
    send_bytes(&r, 0, 100);
    co_io_case_settle(RECEIVE);
    check_step("has the receiving operation end with %d (%s)", result, strerror(-result));
    fake_ring_fail_next(IORING_OP_RECV, result);
    co_io_case_settle(RECEIVE);
    CHECK(r.wakes == 0, RECEIVE,
          "then co_read() returned IO_AGAIN, but nobody has called co_wake() for its coroutine");
    CHECK(r.over == (due == IO_ERROR), RECEIVE, "then co_read() %s",
          r.over ? "returned an error, but nothing is wrong" : "still waits");
    if (due != IO_ERROR) {
        send_bytes(&r, 100, 100);
        shutdown(r.pair.peer, SHUT_WR);
    }
    expect_end(&r, due == IO_ERROR ? 100 : 200, due, error);
    co_forget(&r.socket);
    co_io_case_end();
}

/* Nobody reads while it comes: then bytes, and after them what followed. */
static void comes_unread(int result, enum io_result due)
{
    struct reader r;
    begin_unread(&r, 0);
    check_step("sends 10,000 bytes, and then %s; no coroutine reads meanwhile",
               result == 0 ? "shuts down" : "the connection breaks");
    send_bytes(&r, 100, 10000);
    co_io_case_settle(RECEIVE);
    if (result == 0)
        shutdown(r.pair.peer, SHUT_WR);
    else
        fake_ring_fail_next(IORING_OP_RECV, result);
    co_io_case_settle(RECEIVE);
    r.stops = false;
    co_wake(r.co);
    expect_end(&r, 10100, due, -result);
    co_forget(&r.socket);
    co_io_case_end();
}

#ifndef SANITIZED

static bool no_memory;

/* Replaces that of the C library. */
void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "malloc");
    return no_memory ? NULL : real(size);
}

/* There is no memory for some bytes, and then there is memory for the next ones. */
static void bytes_are_lost(void)
{
    struct reader r;
    begin_unread(&r, 0);
    check_step("sends 1,000 bytes while malloc() fails, and then more; no coroutine reads");
    spare_free();
    no_memory = true;
    send_bytes(&r, 100, 1000);
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    no_memory = false;
    send_bytes(&r, 1100, 1000);
    co_io_case_settle(RECEIVE);
    r.stops = false;
    co_wake(r.co);
    expect_end(&r, 100, IO_ERROR, ENOMEM);
    co_forget(&r.socket);
    co_io_case_end();
}

#else

static void bytes_are_lost(void)
{
}

#endif

/* The time is over, and input arrives before the coroutine runs again. */
static void late_with_input(void)
{
    struct co_reader r;
    begin_case(0, 0);
    co_reader_begin(&r);
    co_reader_ask(&r);
    co_reader_gets(&r, "first", RECEIVE);
    r.timeout_ms = WAIT_MS;
    co_reader_ask(&r);
    fake_clock_advance(WAIT_MS * MS);
    check_step("runs the timers: the time is over");
    timers_run(co_case_timers);
    pair_send_text(r.pair, "input");
    events_turn(watched_events, 0);
    co_run(co_case_scheduler);
    co_reader_expect_result(&r, IO_OK, RECEIVE);
    co_reader_expect_text(&r, "input", RECEIVE);
    co_reader_end(&r);
    co_io_case_end();
}

static void ends(void)
{
    check_fill(data, sizeof data);
    late_with_input();
    ended_with(-ENOBUFS, IO_EOF, 0);
    ended_with(-EINTR, IO_EOF, 0);
    ended_with(-EAGAIN, IO_EOF, 0);
    ended_with(-ECANCELED, IO_EOF, 0);
    ended_with(-ECONNRESET, IO_ERROR, ECONNRESET);
    comes_unread(0, IO_EOF);
    comes_unread(-ECONNRESET, IO_ERROR);
    bytes_are_lost();
}

/* Nobody reads */

static void flood(void)
{
    struct reader r;
    size_t sent = 100;
    check_fill(data, sizeof data);
    begin_unread(&r, 1);
    check_step("sends as much as is taken, and no coroutine reads");
    for (int i = 0; i < TURNS && sent < FLOOD_BYTES; i++) {
        ssize_t n = write(r.pair.peer, data + sent, FLOOD_BYTES - sent);
        sent += n > 0 ? (size_t)n : 0;
        co_io_case_turn();
        CHECK(sent < FLOOD_MOST, RECEIVE, "%zu bytes were taken, but no coroutine reads", sent);
    }
    check_step("has the coroutine read again");
    shutdown(r.pair.peer, SHUT_WR);
    r.stops = false;
    co_wake(r.co);
    expect_end(&r, sent, IO_EOF, 0);
    co_forget(&r.socket);
    co_io_case_end();
}

const struct check checks[] = {
    {"no_buffer", no_buffer},
    {"ends", ends},
    {"flood", flood},
    {0},
};

/* Coroutines that send through a ring of the grader's own: in parts, and late.
 * links: co_io.c co_uring.c ring.c lent.c backend_uring.c co.c context.c? stack.c timers.c buffer.c
 * links: io.c net.c log.c events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "co_io_case.h"
#include "fake_ring.h"

#define SEND "ring-send"

enum {
    DATA_BYTES = 300000,
    FIRST_BYTES = 5000,
    PIECE = 700,
    MORE = 3000,
    MOST = 2000,
    TURNS = 3000
};

static uint8_t data[DATA_BYTES];

/* What sends, and what has become of it. */
struct sender {
    struct pair pair;
    struct co_socket socket;
    struct buffer out;
    struct coroutine *co;
    size_t queued; /* bytes of `data` put into `out` so far */
    size_t arrived;
    int told;  /* calls of `sent` */
    int early; /* returns of co_write with IO_AGAIN */
    enum io_result result;
    int error;
    bool over;
};

static void queue(struct sender *s, size_t size)
{
    if (size > DATA_BYTES - s->queued)
        size = DATA_BYTES - s->queued;
    if (!buffer_append(&s->out, data + s->queued, size))
        check_impossible("no memory for %zu bytes", size);
    s->queued += size;
}

/* The peer reads: the next part of the data has to be there. */
static void take(struct sender *s)
{
    static uint8_t bytes[64 << 10];
    ssize_t n;
    while ((n = read(s->pair.peer, bytes, sizeof bytes)) > 0) {
        CHECK(s->arrived + (size_t)n <= s->queued, SEND, "%zu bytes were queued, but %zu arrived",
              s->queued, s->arrived + (size_t)n);
        check_equal(SEND, "the bytes at the peer", data + s->arrived, (size_t)n, bytes, (size_t)n);
        s->arrived += (size_t)n;
    }
}

static void on_sent(void *context, enum io_result result)
{
    struct sender *s = context;
    s->told++;
    s->result = result;
    s->error = errno;
    if (result == IO_OK && buffer_len(&s->out) > 0)
        co_send(&s->socket, &s->out, MOST);
}

static void write_all(void *argument)
{
    struct sender *s = argument;
    while (buffer_len(&s->out) > 0) {
        size_t before = buffer_len(&s->out);
        s->result = co_write(&s->socket, &s->out, MOST);
        s->error = errno;
        if (s->result == IO_ERROR || s->result == IO_CANCELLED)
            break;
        s->early += s->result == IO_AGAIN;
        if (s->result == IO_OK)
            CHECK(buffer_len(&s->out) != before, SEND,
                  "co_write() returned IO_OK, but has removed nothing from the buffer");
    }
    s->over = true;
}

static void begin_sender(struct sender *s, unsigned piece, unsigned late, size_t size)
{
    check_fill(data, sizeof data);
    fake_ring_plan = (struct fake_ring_plan){.piece = piece, .late = late, .hint = SEND};
    co_io_case_begin();
    *s = (struct sender){.pair = pair_new(3)};
    co_socket_init(&s->socket, s->pair.fd, watched_events);
    s->socket.context = s;
    s->socket.sent = on_sent;
    queue(s, size);
}

static void end_sender(struct sender *s)
{
    co_forget(&s->socket);
    co_io_case_settle(SEND);
    co_io_case_end();
    buffer_free(&s->out);
}

static void expect_arrived(struct sender *s)
{
    take(s);
    CHECK(s->arrived == s->queued && buffer_len(&s->out) == 0, SEND,
          "%zu bytes were queued, %zu arrived, and %zu are left in the buffer", s->queued,
          s->arrived, buffer_len(&s->out));
}

/* While a send is in flight more is appended: the buffer may grow, the bytes may not move. */
static void by_writing(unsigned piece, unsigned late)
{
    struct sender s;
    begin_sender(&s, piece, late, FIRST_BYTES);
    check_step("has a coroutine call co_write(), and appends to its buffer meanwhile");
    co_case_start("writes", write_all, &s);
    for (int i = 0; i < TURNS && !s.over; i++) {
        co_io_case_turn();
        if (!s.over && buffer_len(&s.out) > 0)
            queue(&s, MORE);
        take(&s);
    }
    CHECK(s.over, SEND, "%zu of %zu bytes have arrived, and a coroutine still waits in co_write()",
          s.arrived, s.queued);
    CHECK(s.result == IO_OK, SEND, "co_write() returned %s; due is IO_OK",
          co_io_case_result_name(s.result));
    CHECK(s.told == 0, SEND, "a coroutine waited in co_write(), and `sent` was called as well");
    expect_arrived(&s);
    end_sender(&s);
}

/* No coroutine waits. */
static void by_callback(unsigned piece, unsigned late)
{
    struct sender s;
    begin_sender(&s, piece, late, FIRST_BYTES);
    check_step("calls co_send(), appends to the buffer, and calls co_send() again and again");
    for (int i = 0; i < TURNS && (i < RUNS || buffer_len(&s.out) > 0); i++) {
        if (buffer_len(&s.out) > 0)
            co_send(&s.socket, &s.out, MOST);
        if (s.queued < DATA_BYTES && i % 3 == 0)
            queue(&s, MORE);
        co_io_case_turn();
        take(&s);
    }
    CHECK(s.told > 0 && s.result == IO_OK, SEND, "`sent` was %s",
          s.told == 0 ? "not called" : "called with another result than IO_OK");
    expect_arrived(&s);
    int told = s.told;
    co_io_case_settle(SEND);
    CHECK(s.told == told, SEND, "`sent` was called, but nothing was being sent");
    end_sender(&s);
}

static void in_parts(void)
{
    by_writing(0, 0);
    by_writing(PIECE, 0);
    by_writing(PIECE, 2);
    by_callback(0, 0);
    by_callback(PIECE, 2);
}

/* Ends */

static void fails_with(int result, enum io_result due, bool writes)
{
    struct sender s;
    begin_sender(&s, 0, 1, FIRST_BYTES);
    check_step("has a send end with %d (%s), %s", result, strerror(-result),
               writes ? "for which a coroutine waits in co_write()" : "begun by co_send()");
    fake_ring_fail_next(IORING_OP_SEND, result);
    if (writes)
        co_case_start("writes", write_all, &s);
    else
        co_send(&s.socket, &s.out, MOST);
    co_io_case_settle(SEND);
    if (due == IO_ERROR) {
        CHECK(writes ? s.over : s.told == 1, SEND, "%s",
              writes ? "co_write() still waits" : "`sent` was not called once");
        CHECK(s.result == IO_ERROR && s.error == -result, SEND,
              "the result is %s, with errno %d (%s); due is IO_ERROR with %d (%s)",
              co_io_case_result_name(s.result), s.error, strerror(s.error), -result,
              strerror(-result));
        CHECK(buffer_len(&s.out) == FIRST_BYTES, SEND,
              "a send has failed, but bytes were removed from the buffer");
    } else if (writes) {
        CHECK(s.over && s.early == 1, SEND,
              "nothing was sent, and nothing was wrong, but co_write() did not return IO_AGAIN");
        expect_arrived(&s);
    } else {
        CHECK(s.told == 1 && s.result == IO_AGAIN, SEND,
              "nothing was sent, and nothing is wrong: `sent` is due once, with IO_AGAIN");
    }
    end_sender(&s);
}

static void nobody_told(void)
{
    struct sender s;
    begin_sender(&s, 0, 1, MOST);
    s.socket.sent = NULL;
    check_step("calls co_send() for a socket whose `sent` is NULL");
    co_send(&s.socket, &s.out, MOST);
    co_io_case_settle(SEND);
    expect_arrived(&s);
    end_sender(&s);
}

/* A wait that ends early does not end the send. */
static void woken(void)
{
    struct sender s;
    begin_sender(&s, 0, 3, MOST);
    s.socket.sent = NULL;
    struct coroutine *co = co_case_start("writes", write_all, &s);
    for (int i = 0; i < RUNS && !s.over; i++) {
        check_step("calls co_wake() while a send is in flight");
        co_wake(co);
        co_io_case_turn();
        take(&s);
    }
    CHECK(s.over && s.early > 0, SEND,
          "co_wake() was called, but co_write() did not return IO_AGAIN");
    expect_arrived(&s);
    end_sender(&s);
}

static void ends(void)
{
    for (int writes = 0; writes < 2; writes++) {
        fails_with(-EPIPE, IO_ERROR, writes);
        fails_with(-ECONNRESET, IO_ERROR, writes);
        fails_with(-ECANCELED, IO_AGAIN, writes);
        fails_with(-EINTR, IO_AGAIN, writes);
    }
    nobody_told();
    woken();
}

const struct check checks[] = {
    {"in_parts", in_parts},
    {"ends", ends},
    {0},
};

/* Coroutines that wait until the peer reads.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <unistd.h>

#include "co_io_case.h"

#define WRITE "co-write"

enum { DATA_BYTES = 2 << 20, MOST = 10000 };

static uint8_t data[DATA_BYTES];

/* A coroutine that sends all of a buffer. */
struct writer {
    struct pair pair;
    struct co_socket socket;
    struct buffer out;
    int in_vain; /* calls of co_write that have sent nothing */
    int calls;
    enum io_result result;
    bool over;
    bool other_over; /* the coroutine that reads, where there is one */
};

static void write_all(void *argument)
{
    struct writer *w = argument;
    while (buffer_len(&w->out) > 0) {
        size_t before = buffer_len(&w->out);
        w->result = co_write(&w->socket, &w->out, MOST);
        size_t sent = before - buffer_len(&w->out);
        w->calls++;
        w->in_vain += sent == 0;
        CHECK(sent <= MOST, WRITE, "co_write() removed %zu bytes from the buffer; allowed are %d",
              sent, MOST);
        if (w->result == IO_ERROR || w->result == IO_CANCELLED)
            break;
    }
    w->over = true;
}

static void begin_writer(struct writer *w, size_t size)
{
    co_io_case_begin();
    *w = (struct writer){.pair = pair_new(3)};
    co_socket_init(&w->socket, w->pair.fd, watched_events);
    if (!buffer_append(&w->out, data, size))
        check_impossible("no memory for %zu bytes", size);
    check_step("has a coroutine call co_write() until %zu bytes are sent", size);
    co_case_start("writes", write_all, w);
}

static void end_writer(struct writer *w)
{
    co_forget(&w->socket);
    buffer_free(&w->out);
    co_io_case_end();
}

/* As many iterations as it takes until nothing more is sent. */
static void until_full(const struct writer *w)
{
    size_t before;
    check_step("runs iterations of the loop, until nothing more is sent");
    do {
        before = buffer_len(&w->out);
        for (int i = 0; i < RUNS; i++)
            co_io_case_turn();
    } while (buffer_len(&w->out) < before);
    CHECK(
        !co_is_ready(co_case_scheduler), WRITE,
        "the peer reads nothing, but the sending coroutine is ready in each iteration: it does not "
        "wait");
}

/* The peer reads what is there. */
static void take(const struct writer *w, size_t *taken)
{
    static uint8_t bytes[64 << 10];
    ssize_t n;
    check_step("reads at the peer what has arrived");
    while ((n = read(w->pair.peer, bytes, sizeof bytes)) > 0) {
        check_equal(WRITE, "the bytes at the peer", data + *taken, (size_t)n, bytes, (size_t)n);
        *taken += (size_t)n;
    }
}

static void when_the_peer_reads(void)
{
    struct writer w;
    size_t taken = 0;
    int pauses = 0;
    begin_writer(&w, DATA_BYTES);
    until_full(&w);
    CHECK(!w.over, WRITE, "the kernel cannot have taken %d bytes, but the coroutine has finished",
          DATA_BYTES);
    while (taken < DATA_BYTES) {
        size_t before = taken;
        take(&w, &taken);
        CHECK(taken > before, WRITE,
              "the peer has read everything, but no more is sent: %zu of %d bytes have come", taken,
              DATA_BYTES);
        until_full(&w);
        pauses++;
    }
    CHECK(w.over, WRITE, "the peer has all bytes, but the coroutine still waits in co_write()");
    CHECK(w.in_vain <= 2 * pauses + 2, WRITE,
          "%d calls of co_write() sent nothing, but the peer paused only %d times", w.in_vain,
          pauses);
    end_writer(&w);
}

/* Bytes that the kernel takes at once are sent without a wait, a part in each iteration. */
static void at_once(void)
{
    struct writer w;
    size_t taken = 0;
    begin_writer(&w, 3 * MOST);
    for (int i = 1; i <= 3; i++) {
        co_io_case_turn();
        CHECK(w.calls <= i, WRITE,
              "in %d iterations a coroutine sent %d times, while the others waited", i, w.calls);
    }
    until_full(&w);
    CHECK(w.over, WRITE, "the kernel has space for %d bytes, but co_write() waits", 3 * MOST);
    take(&w, &taken);
    CHECK(taken == 3 * MOST, WRITE, "%zu of %d bytes have come", taken, 3 * MOST);
    end_writer(&w);
}

static void wait_to_read(void *argument)
{
    struct writer *w = argument;
    struct buffer in = {0};
    size_t moved = 0;
    enum io_result result;
    do
        result = co_read(&w->socket, &in, ROOM, &moved, -1);
    while (result == IO_AGAIN);
    CHECK(result == IO_CANCELLED, WRITE, "co_forget() was called, but co_read() returned %s",
          co_io_case_result_name(result));
    w->other_over = true;
    buffer_free(&in);
}

/* Of both directions. */
static void forgotten(void)
{
    struct writer w;
    begin_writer(&w, DATA_BYTES);
    co_case_start("reads", wait_to_read, &w);
    until_full(&w);
    check_step("calls co_forget(); one coroutine waits in co_read(), one in co_write()");
    co_forget(&w.socket);
    co_io_case_settle(WRITE);
    CHECK(w.over && w.result == IO_CANCELLED, WRITE, "co_forget() was called, but co_write() %s%s",
          w.over ? "returned " : "still waits", w.over ? co_io_case_result_name(w.result) : "");
    CHECK(w.other_over, WRITE, "co_forget() was called, but co_read() still waits");
    watched_expect_interest(w.pair.fd, 0, WRITE);
    buffer_free(&w.out);
    co_io_case_end();
}

static void peer_is_gone(void)
{
    struct writer w;
    begin_writer(&w, DATA_BYTES);
    until_full(&w);
    check_step("closes the peer");
    pair_close(w.pair.peer);
    co_io_case_settle(WRITE);
    CHECK(w.over && w.result == IO_ERROR, WRITE, "the peer has closed, but co_write() %s%s",
          w.over ? "returned " : "still waits", w.over ? co_io_case_result_name(w.result) : "");
    end_writer(&w);
}

static void writes(void)
{
    check_fill(data, sizeof data);
    at_once();
    when_the_peer_reads();
    forgotten();
    peer_is_gone();
}

const struct check checks[] = {
    {"writes", writes},
    {0},
};

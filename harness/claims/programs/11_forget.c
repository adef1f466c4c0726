/* Sockets that are forgotten with operations in flight, in a ring of the grader's own.
 * links: co_io.c co_uring.c ring.c lent.c backend_uring.c co.c context.c? stack.c timers.c buffer.c
 * links: io.c net.c log.c events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "co_io_case.h"
#include "fake_ring.h"

#define FORGET    "ring-forget"
#define IN_FLIGHT "ring-in-flight"

enum { OUT_BYTES = 5000, LATE = 4, TURNS = 100 };

/* A connection as a server has it: on the heap, and freed by its own coroutine. */
struct owner {
    struct co_socket socket;
    struct buffer in, out;
    struct coroutine *co;
};

static struct pair pair;
static bool forgets, forgotten;

/* What it waits for: input; nothing but a reset; or for one after the other. */
static enum { READS, IDLES, BOTH } does;

static void own(void *argument)
{
    struct owner *o = argument;
    size_t moved;
    bool idle = does != READS;
    while (!forgets) {
        enum io_result result =
            idle ? co_wait(&o->socket, -1) : co_read(&o->socket, &o->in, ROOM, &moved, -1);
        if (result == IO_CANCELLED)
            break;
        idle = does == IDLES;
    }
    co_forget(&o->socket);
    int count = fake_ring_in_flight(pair.fd);
    CHECK(count == 0, FORGET, "co_forget() returned to a coroutine; operations in flight: %d",
          count);
    buffer_free(&o->in);
    buffer_free(&o->out);
    free(o);
    forgotten = true;
}

static struct owner *begin_owner(unsigned late, int slow)
{
    static const uint8_t zeros[OUT_BYTES];
    fake_ring_plan = (struct fake_ring_plan){.late = late, .slow = slow, .hint = IN_FLIGHT};
    co_io_case_begin();
    pair = pair_new(3);
    forgets = forgotten = false;
    struct owner *o = check_memory(sizeof *o);
    if (!buffer_append(&o->out, zeros, sizeof zeros))
        check_impossible("no memory");
    co_socket_init(&o->socket, pair.fd, watched_events);
    check_step("has a coroutine call %s", does == READS ? "co_read()" : "co_wait()");
    o->co = co_case_start("owns", own, o);
    co_io_case_settle(FORGET);
    if (does == BOTH) {
        check_step("wakes it, and then it calls co_read()");
        co_wake(o->co);
        co_io_case_settle(FORGET);
    }
    return o;
}

static void expect_forgotten(void)
{
    for (int i = 0; i < TURNS && !forgotten; i++)
        co_io_case_turn();
    CHECK(forgotten, FORGET,
          "a coroutine called co_forget() with operations in flight, and it does not return");
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
}

/* The descriptor is not closed, and another socket may use it. */
static void expect_usable(void)
{
    char byte;
    check_step("reads at the peer");
    CHECK(read(pair.peer, &byte, 1) < 0 && errno == EAGAIN, FORGET,
          "co_forget() was called, and the peer has received something: EOF, or a byte");
    check_step("sends a byte to the forgotten descriptor");
    CHECK(write(pair.peer, "x", 1) == 1, FORGET, "the peer cannot send: %s", strerror(errno));
    CHECK(read(pair.fd, &byte, 1) == 1, FORGET, "the descriptor cannot be read");
}

/* The socket is forgotten while it receives, and perhaps sends. */
static void in_flight(unsigned late, int slow, bool sends, bool cancelled)
{
    struct owner *o = begin_owner(late, slow);
    fake_ring_held = true;
    if (sends) {
        check_step("calls co_send(), and the peer takes nothing");
        co_send(&o->socket, &o->out, OUT_BYTES);
        co_io_case_turn();
    }
    CHECK(fake_ring_in_flight(pair.fd) >= (sends ? 2 : 1), FORGET,
          "%s%s called; operations in flight: %d", does == IDLES ? "co_wait()" : "co_read()",
          sends ? " and co_send() were" : " was", fake_ring_in_flight(pair.fd));
    forgets = true;
    if (cancelled) {
        check_step("cancels the coroutine, which then calls co_forget() and frees its memory");
        co_cancel(o->co);
    } else {
        check_step("wakes the coroutine, which then calls co_forget() and frees its memory");
        co_wake(o->co);
    }
    expect_forgotten();
    expect_usable();
    fake_ring_held = false;
    co_io_case_end();
}

/* Nothing is in flight: then it returns at once. */
static void nothing_in_flight(void)
{
    begin_owner(0, 0);
    fake_ring_fail_next(IORING_OP_RECV, -ECONNRESET);
    forgets = true;
    check_step("has co_read() fail; then the coroutine calls co_forget()");
    expect_forgotten();
    co_io_case_end();
}

/* Operations of another socket go on. */
static struct owner other;
static enum io_result other_result;
static bool other_over;

static void read_other(void *argument)
{
    size_t moved;
    do
        other_result = co_read(&other.socket, &other.in, ROOM, &moved, -1);
    while (other_result == IO_AGAIN);
    other_over = true;
}

static void begin_other(int fd)
{
    other = (struct owner){0};
    other_over = false;
    co_socket_init(&other.socket, fd, watched_events);
    co_case_start("other", read_other, NULL);
    co_io_case_settle(FORGET);
}

static void another_socket(void)
{
    struct owner *o = begin_owner(1, 0);
    struct pair second = pair_new(3);
    begin_other(second.fd);
    forgets = true;
    check_step("forgets one of two sockets");
    co_cancel(o->co);
    expect_forgotten();
    CHECK(!other_over, FORGET, "one socket was forgotten, and co_read() of another one returned");
    pair_send_text(second, "on");
    co_io_case_settle(FORGET);
    CHECK(other_over && other_result == IO_OK, FORGET,
          "one socket was forgotten, and co_read() of another one does not read any more");
    buffer_free(&other.in);
    co_forget(&other.socket);
    co_io_case_end();
}

/* No coroutine calls it: then it does not wait, but the coroutines that wait are cancelled. */
static void outside(void)
{
    fake_ring_plan = (struct fake_ring_plan){.late = 1, .hint = IN_FLIGHT};
    co_io_case_begin();
    pair = pair_new(3);
    begin_other(pair.fd);
    check_step("calls co_forget() outside of coroutines");
    co_forget(&other.socket);
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    CHECK(other_over && other_result == IO_CANCELLED, FORGET,
          "co_forget() was called, but co_read() did not return IO_CANCELLED");
    CHECK(fake_ring_in_flight(pair.fd) == 0, FORGET,
          "co_forget() was called, and %d operations are still in flight after %d iterations",
          fake_ring_in_flight(pair.fd), RUNS);
    buffer_free(&other.in);
    co_io_case_end();
}

static void forgets_all(void)
{
    for (unsigned late = 0; late <= LATE; late += LATE) {
        for (int sends = 0; sends < 2; sends++) {
            does = READS;
            in_flight(late, IORING_OP_SEND, sends, false);
            in_flight(late, IORING_OP_RECV, sends, true);
            does = IDLES;
            in_flight(late, IORING_OP_POLL_ADD, sends, false);
            does = BOTH;
            in_flight(late, IORING_OP_POLL_ADD, sends, true);
        }
    }
    does = READS;
    nothing_in_flight();
    another_socket();
    outside();
}

const struct check checks[] = {
    {"forgets", forgets_all},
    {0},
};

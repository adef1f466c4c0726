/* Sockets with a ring of the grader's own: with few buffers, with operations that complete in parts
 * or late, with every result, and forgotten or left while something is in flight.
 * links: co_io.c co_uring.c ring.c lent.c backend_uring.c co.c context.c? stack.c timers.c buffer.c
 * links: io.c net.c log.c events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_io_case.h"
#include "fake_ring.h"
#include "no_memory.h"

#define RECEIVE   "ring-receive"
#define SEND      "ring-send"
#define FORGET    "ring-forget"
#define CALLS     "ring-calls"
#define IN_FLIGHT "ring-in-flight"

enum {
    READERS = 5,
    BUFFERS = 2,
    READ_BYTES = 40000,
    FLOOD_MOST = 2 << 20, /* far more than sockets and one connection hold */
    TAKEN_BYTES = 4096,
    QUEUED_BYTES = 300000,
    FIRST_BYTES = 5000,
    PIECE = 700,
    MORE = 3000,
    MOST = 2000,
    WAIT_MS = 40,
    LATE = 4,
    TURNS = 3000
};

static void turns(void)
{
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
}

static void begin(const char *hint, struct fake_ring_plan plan)
{
    if (plan.hint == NULL)
        plan.hint = hint;
    fake_ring_plan = plan;
    co_io_case_begin(hint);
}

/* Receiving */

static void read_on(struct party *p)
{
    p->repeats = true;
    party_call(p, READS);
}

static void begin_reader(struct party *p)
{
    party_begin(p, pair_new(3));
    p->most = TAKEN_BYTES;
    read_on(p);
}

/* A coroutine that has read 100 bytes, and waits for more. */
static void begin_reading(struct party *p, unsigned late)
{
    begin(RECEIVE, (struct fake_ring_plan){.late = late});
    begin_reader(p);
    pair_send_data(p->pair, 0, 100);
    co_io_case_settle();
}

/* It has read so much when the input ends: with an error, one of errno; or, if that is 0, with
 * EOF. */
static void expect_end(const struct party *p, size_t size, int error)
{
    if (error == 0)
        party_expect_result(p, IO_EOF);
    else
        party_expect_error(p, error);
    EXPECT(p->moved == size, "%zu bytes were sent, but co_read() has read %zu", size, p->moved);
}

/* More clients send than there are buffers. */
static void no_buffer(void)
{
    static struct party readers[READERS];
    begin(RECEIVE, (struct fake_ring_plan){.buffers = BUFFERS, .late = 2});
    check_step("lends %d buffers; %d coroutines read %d bytes each", BUFFERS, READERS, READ_BYTES);
    for (int i = 0; i < READERS; i++)
        begin_reader(&readers[i]);
    for (int i = 0; i < READERS; i++) {
        pair_send_data(readers[i].pair, 0, READ_BYTES);
        shutdown(readers[i].pair.peer, SHUT_WR);
    }
    for (int i = 0; i < READERS; i++)
        expect_end(&readers[i], READ_BYTES, 0);
    EXPECT(fake_ring_buffers() == BUFFERS,
           "everything is read, and %u of %d lent buffers were given back", fake_ring_buffers(),
           BUFFERS);
    for (int i = 0; i < READERS; i++)
        party_end(&readers[i]);
    co_io_case_end();
}

/* A result that is no input. With an error of 0 nothing is wrong. */
static void receive_ends_with(int result, int error)
{
    struct party p;
    begin_reading(&p, 0);
    check_step("has the receiving operation end with %d (%s)", result, strerror(-result));
    fake_ring_fail(IORING_OP_RECV, 0, result);
    co_io_case_settle();
    EXPECT(p.in_vain == 0,
           "then co_read() returned IO_AGAIN, but nobody has called co_wake() for its coroutine");
    if (error == 0) {
        party_expect_waiting(&p);
        pair_send_data(p.pair, 100, 100);
        shutdown(p.pair.peer, SHUT_WR);
    }
    expect_end(&p, error == 0 ? 200 : 100, error);
    party_end_all(&p);
}

/* Nobody reads while it comes: then bytes, and after them the end. */
static void comes_unread(void)
{
    struct party p;
    begin_reading(&p, 0);
    party_stop(&p);
    pair_send_data(p.pair, 100, 10000);
    co_io_case_settle();
    check_step("shuts down its sending side; no coroutine reads meanwhile");
    shutdown(p.pair.peer, SHUT_WR);
    co_io_case_settle();
    read_on(&p);
    expect_end(&p, 10100, 0);
    party_end_all(&p);
}

/* There is no memory for some bytes, and then there is memory for the next ones. */
static void bytes_are_lost(void)
{
    struct party p;
    begin_reading(&p, 0);
    party_stop(&p);
    check_step("has malloc() fail; no coroutine reads");
    spare_free();
    no_memory_begin();
    pair_send_data(p.pair, 100, 1000);
    turns();
    no_memory_end();
    check_step("has memory again");
    pair_send_data(p.pair, 1100, 1000);
    co_io_case_settle();
    read_on(&p);
    expect_end(&p, 100, ENOMEM);
    party_end_all(&p);
}

/* The time is over, and input arrives before the coroutine runs again. */
static void late_with_input(void)
{
    struct party p;
    begin(RECEIVE, (struct fake_ring_plan){0});
    party_begin(&p, pair_new(3));
    party_ask(&p, READS);
    party_gets(&p, "first");
    p.timeout_ms = WAIT_MS;
    party_ask(&p, READS);
    fake_clock_advance(WAIT_MS * MS);
    check_step("runs the timers: the time is over");
    timers_run(co_case_timers);
    pair_send_text(p.pair, "input");
    events_turn(watched_events, 0);
    co_run(co_case_scheduler);
    party_expect_text(&p, "input");
    party_end_all(&p);
}

static void ends_of_receiving(void)
{
    late_with_input();
    receive_ends_with(-EINTR, 0);
    receive_ends_with(-ECANCELED, 0);
    receive_ends_with(-ECONNRESET, ECONNRESET);
    comes_unread();
    bytes_are_lost();
}

/* Nobody reads. */
static void flood(void)
{
    struct party p;
    size_t sent = 100;
    begin_reading(&p, 1);
    party_stop(&p);
    check_step("sends as much as is taken, and no coroutine reads");
    for (int i = 0; i < TURNS && sent < DATA_BYTES; i++) {
        ssize_t n = write(p.pair.peer, co_io_data + sent, DATA_BYTES - sent);
        sent += n > 0 ? (size_t)n : 0;
        co_io_case_turn();
        EXPECT(sent < FLOOD_MOST, "%zu bytes were taken, but no coroutine reads", sent);
    }
    shutdown(p.pair.peer, SHUT_WR);
    read_on(&p);
    expect_end(&p, sent, 0);
    party_end_all(&p);
}

/* Sending */

static int told; /* calls of `sent` */

static void on_sent(void *context, enum io_result result)
{
    struct party *p = context;
    told++;
    p->result = result;
    p->error = errno;
    if (result == IO_OK && buffer_len(&p->out) > 0)
        co_send(&p->socket, &p->out, MOST);
}

/* A coroutine sends, or the callback of a send that nobody waits for. */
enum by { BY_WRITING, BY_CALLBACK };

static void begin_sender(struct party *p, enum by by, struct fake_ring_plan plan, size_t size)
{
    begin(SEND, plan);
    party_begin(p, pair_new(3));
    told = 0;
    p->most = MOST;
    p->repeats = true;
    p->socket.context = p;
    p->socket.sent = on_sent;
    party_queue(p, size);
    if (by == BY_WRITING) {
        party_call(p, WRITES);
    } else {
        check_step("calls co_send()");
        co_send(&p->socket, &p->out, MOST);
    }
}

/* While a send is in flight more is appended: the buffer may grow, the bytes may not move. */
static void appends(enum by by, int failure)
{
    struct party p;
    begin_sender(&p, by, (struct fake_ring_plan){.piece = PIECE, .late = 2}, FIRST_BYTES);
    if (failure != 0)
        check_step("has the second send end with %d (%s)", failure, strerror(-failure));
    fake_ring_fail(IORING_OP_SEND, 1, failure);
    check_step("appends to the buffer meanwhile%s",
               by == BY_CALLBACK ? ", and calls co_send() again and again" : "");
    for (int i = 0; i < TURNS && (i < RUNS || buffer_len(&p.out) > 0); i++) {
        if (by == BY_CALLBACK && buffer_len(&p.out) > 0)
            co_send(&p.socket, &p.out, MOST);
        if (p.queued < QUEUED_BYTES && buffer_len(&p.out) > 0 && i % 3 == 0)
            party_queue(&p, MORE);
        co_io_case_turn();
        party_take(&p);
    }
    int before = told;
    co_io_case_settle();
    EXPECT(told == before, "`sent` was called, but nothing was being sent");
    if (by == BY_WRITING) {
        party_expect_result(&p, IO_OK);
        EXPECT(told == 0, "a coroutine waited in co_write(), and `sent` was called as well");
    } else {
        EXPECT(told > 0 && p.result == IO_OK, "`sent` was %s",
               told == 0 ? "not called" : "called with another result than IO_OK");
    }
    party_expect_arrived(&p);
    party_end_all(&p);
}

static void in_parts(void)
{
    appends(BY_WRITING, 0);
    appends(BY_CALLBACK, 0);
}

static void send_fails(void)
{
    struct party p;
    begin_sender(&p, BY_WRITING, (struct fake_ring_plan){.late = 1}, FIRST_BYTES);
    check_step("has the send fail with EPIPE");
    fake_ring_fail(IORING_OP_SEND, 0, -EPIPE);
    party_expect_error(&p, EPIPE);
    EXPECT(buffer_len(&p.out) == FIRST_BYTES,
           "a send has failed, but bytes were removed from the buffer");
    party_end_all(&p);
}

/* A wait that ends early does not end the send. */
static void woken_while_it_sends(void)
{
    struct party p;
    begin_sender(&p, BY_WRITING, (struct fake_ring_plan){.late = 3}, MOST);
    p.takes_again = true;
    co_io_case_turn();
    check_step("calls co_wake() while a send is in flight");
    co_wake(p.co);
    co_io_case_turn();
    EXPECT(p.in_vain == 1, "co_wake() was called, but co_write() did not return IO_AGAIN");
    party_expect_result(&p, IO_OK);
    party_expect_arrived(&p);
    party_end_all(&p);
}

static void ends_of_sending(void)
{
    send_fails();
    appends(BY_WRITING, -EINTR);
    woken_while_it_sends();
}

/* Forgetting */

static bool forgotten;

/* A connection as a server has it: on the heap, and freed by its own coroutine. */
static void forget_and_free(struct party *p)
{
    co_forget(&p->socket);
    int count = fake_ring_in_flight(p->pair.fd);
    EXPECT(count == 0, "co_forget() returned to a coroutine; operations in flight: %d", count);
    buffer_free(&p->in);
    buffer_free(&p->out);
    free(p);
    forgotten = true;
}

/* The descriptor is not closed, and another socket may use it. */
static void expect_usable(struct pair pair)
{
    char byte;
    check_step("reads at the peer");
    EXPECT(read(pair.peer, &byte, 1) < 0 && errno == EAGAIN,
           "co_forget() was called, and the peer has received something: EOF, or a byte");
    check_step("sends a byte to the forgotten descriptor");
    EXPECT(write(pair.peer, "x", 1) == 1, "the peer cannot send: %s", strerror(errno));
    EXPECT(read(pair.fd, &byte, 1) == 1, "the descriptor cannot be read");
}

/* The coroutine waits for input (READS), for nothing but a reset (WAITS), or for one after the
 * other (PARKS), and the socket perhaps sends. `slow`: what of it completes last. */
static void in_flight(enum does does, int slow, bool sends, bool cancelled)
{
    begin(FORGET, (struct fake_ring_plan){.hint = IN_FLIGHT, .late = LATE, .slow = slow});
    struct party *p = check_memory(sizeof *p);
    party_begin(p, pair_new(3));
    p->last = forget_and_free;
    forgotten = false;
    struct pair pair = p->pair;
    party_ask(p, does == READS ? READS : WAITS);
    if (does == PARKS) {
        party_stop(p);
        party_ask(p, READS);
    }
    fake_ring_held = true;
    if (sends) {
        check_step("calls co_send(), and the peer takes nothing");
        party_queue(p, FIRST_BYTES);
        co_send(&p->socket, &p->out, FIRST_BYTES);
        co_io_case_turn();
    }
    int count = fake_ring_in_flight(pair.fd);
    EXPECT(count >= 1 + sends, "operations in flight: %d; due are %d", count, 1 + sends);
    p->ends = true;
    check_step("%s the coroutine, which then calls co_forget() and frees its memory",
               cancelled ? "cancels" : "wakes");
    if (cancelled)
        co_cancel(p->co);
    else
        co_wake(p->co);
    for (int i = 0; i < TURNS && !forgotten; i++)
        co_io_case_turn();
    EXPECT(forgotten,
           "a coroutine called co_forget() with operations in flight, and it does not return");
    turns();
    expect_usable(pair);
    fake_ring_held = false;
    co_io_case_end();
}

/* No coroutine calls it: then it does not wait, but the coroutines that wait are cancelled. */
static void outside(void)
{
    struct party p;
    begin(FORGET, (struct fake_ring_plan){.hint = IN_FLIGHT, .late = 1});
    party_begin(&p, pair_new(3));
    party_ask(&p, READS);
    check_step("calls co_forget() outside of coroutines");
    p.ends = true;
    co_forget(&p.socket);
    turns();
    party_expect_result(&p, IO_CANCELLED);
    EXPECT(fake_ring_in_flight(p.pair.fd) == 0,
           "co_forget() was called, and %d operations are still in flight after %d iterations",
           fake_ring_in_flight(p.pair.fd), RUNS);
    co_io_case_end();
}

static void forgets(void)
{
    for (int sends = 0; sends < 2; sends++) {
        in_flight(READS, IORING_OP_SEND, sends, false);
        in_flight(READS, IORING_OP_RECV, sends, true);
        in_flight(WAITS, IORING_OP_POLL_ADD, sends, false);
        in_flight(PARKS, IORING_OP_POLL_ADD, sends, true);
    }
    outside();
}

/* Accepting and connecting */

/* Nothing of it may be in flight when a call returns: it uses the stack of the coroutine. */
static void expect_nothing_in_flight(int fd, const char *function)
{
    int count = fake_ring_in_flight(fd);
    CHECK(count == 0, IN_FLIGHT,
          "%s returned, but operations of it are in flight: %d; the kernel may still use the stack",
          function, count);
}

static void begin_accepting(struct party *p, unsigned late)
{
    begin(CALLS, (struct fake_ring_plan){.hint = IN_FLIGHT, .late = late});
    party_accepts(p);
}

/* Something else ends its waits. */
static void wake_again_and_again(struct party *p)
{
    p->takes_again = true;
    for (int i = 0; i < 3; i++) {
        check_step("calls co_wake() while the coroutine waits");
        co_wake(p->co);
        turns();
    }
    party_expect_waiting(p);
}

static void accepts(void)
{
    struct party p;
    begin_accepting(&p, LATE);
    party_meets(&p, 1);
    party_expect_clients(&p);
    party_meets(&p, BATCH + 1);
    party_expect_clients(&p);
    wake_again_and_again(&p);
    party_end_all(&p);
}

/* One operation of co_accept() ends with this, after `first` others; these, and those that begin
 * together with it, have accepted clients. */
static void accepts_end_with(int first, int result)
{
    struct party p;
    begin_accepting(&p, 0);
    check_step("has accept operation %d end with %d (%s)", first + 1, result, strerror(-result));
    fake_ring_fail(IORING_OP_ACCEPT, first, result);
    party_meets(&p, first + BATCH);
    turns();
    if (result == -EMFILE && first == 0) {
        party_expect_error(&p, EMFILE);
        party_ask(&p, ACCEPTS);
    } else {
        party_expect_waiting(&p);
    }
    party_expect_clients(&p);
    party_end_all(&p);
}

/* There is no answer. */
static void unanswered(void)
{
    struct party p;
    struct sockaddr_in address;
    begin(CALLS, (struct fake_ring_plan){.hint = IN_FLIGHT, .late = LATE});
    int bound = bind_somewhere(&address, -1);
    fake_ring_held = true;
    party_connects(&p, &address);
    turns();
    wake_again_and_again(&p);
    check_step("calls co_cancel()");
    p.ends = true;
    co_cancel(p.co);
    party_expect_result(&p, IO_CANCELLED);
    fake_ring_held = false;
    close(bound);
    party_end_all(&p);
}

/* The connection was made when the coroutine is cancelled, but the completion is on its way. */
static void connected_before_the_end(void)
{
    struct party server, p;
    begin_accepting(&server, LATE * RUNS);
    party_connects(&p, &server.address);
    turns();
    check_step("calls co_cancel(): the connection is made, and its operation completes later");
    p.ends = true;
    co_cancel(p.co);
    party_expect_result(&p, IO_OK);
    party_end(&p);
    party_end_all(&server);
}

static void calls(void)
{
    party_has_called = expect_nothing_in_flight;
    accepts();
    unanswered();
    accepts_end_with(0, -EMFILE);
    accepts_end_with(0, -ECONNABORTED);
    accepts_end_with(BATCH - 1, -EMFILE);
    connected_before_the_end();
}

const struct check checks[] = {
    {"no_buffer", no_buffer},
    {"ends_of_receiving", ends_of_receiving},
    {"flood", flood},
    {"in_parts", in_parts},
    {"ends_of_sending", ends_of_sending},
    {"forgets", forgets},
    {"calls", calls},
    {0},
};

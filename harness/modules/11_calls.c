/* Coroutines that accept and connect through a ring of the grader's own.
 * links: co_io.c co_uring.c ring.c lent.c backend_uring.c co.c context.c? stack.c timers.c buffer.c
 * links: io.c net.c log.c events.c backend_select.c backend_poll.c backend_epoll.c */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "co_calls.h"
#include "fake_ring.h"

#define CALLS     "ring-calls"
#define IN_FLIGHT "ring-in-flight"

enum {
    LATE = 3,
    FIRST = MOST - 1 /* clients before the first MOST that are tried together: 1, 2, MOST */
};

/* Nothing of it may be in flight when a call returns: it uses the stack of the coroutine. */
static void expect_nothing_in_flight(int fd, const char *function)
{
    int count = fake_ring_in_flight(fd);
    CHECK(count == 0, IN_FLIGHT,
          "%s returned, but %d operation%s of it %s in flight: the kernel may still use the stack",
          function, count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

/* Accepting */

static void begin_accepting(struct acceptor *a, unsigned late, int most)
{
    fake_ring_plan = (struct fake_ring_plan){.late = late, .hint = IN_FLIGHT};
    acceptor_begin(a, CALLS, most);
}

static void settle_more(void)
{
    for (int i = 0; i < RUNS; i++)
        co_io_case_settle();
}

/* So many operations of co_accept() end with this, from number `first` on. */
static void fail_accepts(int first, int count, int result)
{
    check_step("has accept operations of co_accept() end with %d (%s): %d of them, from "
               "number %d on",
               result, strerror(-result), count, first + 1);
    fake_ring_skip_next(IORING_OP_ACCEPT, first);
    for (int i = 0; i < count; i++)
        fake_ring_fail_next(IORING_OP_ACCEPT, result);
}

static void accepts(unsigned late)
{
    struct acceptor a;
    fake_ring_plan = (struct fake_ring_plan){.late = late, .hint = IN_FLIGHT};
    clients_in_groups(CALLS);
    begin_accepting(&a, late, MOST);
    for (int i = 0; i < 3; i++) {
        int before = a.none;
        check_step("calls co_wake() while co_accept() waits");
        co_wake(a.co);
        settle_more();
        EXPECT(a.none > before && a.full == 0,
               "a wait was ended, and no client was there, but co_accept() did not return "
               "NET_NONE");
    }
    acceptor_end(&a);
}

/* No descriptor is free for a client; or it has gone before it is accepted. */
static void refused(int result, bool full)
{
    struct acceptor a;
    begin_accepting(&a, 0, 1);
    fail_accepts(0, 1, result);
    acceptor_connect(&a, 1);
    settle_more();
    EXPECT(a.full == full, "co_accept() returned NET_FULL %s; due is %d", check_times(a.full),
           full);
    if (full)
        EXPECT(a.error == -result, "with NET_FULL errno is %d; due is %d (%s)", a.error, -result,
               strerror(-result));
    check_step("calls co_wake(): the client that waits has to be accepted");
    co_wake(a.co);
    acceptor_expect(&a, 1);
    acceptor_end(&a);
}

/* Some operations of a call fail, and the others have accepted clients. */
static void refused_in_part(int first, int count, int result)
{
    struct acceptor a;
    begin_accepting(&a, 0, MOST);
    fail_accepts(FIRST + first, count, result);
    acceptor_connect(&a, FIRST + MOST);
    settle_more();
    EXPECT(a.count >= FIRST + MOST - count,
           "%d clients wait, %d accept operations fail, and %d clients were accepted", FIRST + MOST,
           count, a.count);
    co_wake(a.co); /* it may wait after NET_FULL */
    acceptor_expect(&a, FIRST + MOST);
    acceptor_end(&a);
}

/* Connecting */

static void connects(unsigned late)
{
    struct acceptor a;
    struct caller c;
    begin_accepting(&a, late, MOST);
    caller_begin(&c, &a.address, "");
    caller_expect(&c, IO_OK);
    caller_end(&c);
    check_step("has the next connection refused");
    fake_ring_fail_next(IORING_OP_CONNECT, -ECONNREFUSED);
    caller_begin(&c, &a.address, "");
    caller_expect_error(&c, ECONNREFUSED);
    caller_end(&c);
    acceptor_end(&a);
}

/* There is no answer. */
static void unanswered(unsigned late)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct caller c;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake_ring_plan = (struct fake_ring_plan){.late = late, .hint = IN_FLIGHT};
    co_io_case_begin(CALLS);
    fake_ring_held = true;
    caller_begin(&c, &address, "");
    caller_expect_waiting(&c);
    for (int i = 0; i < 3; i++) {
        check_step("calls co_wake() while co_connect() waits");
        co_wake(c.co);
        settle_more();
        caller_expect_waiting(&c);
    }
    check_step("calls co_cancel()");
    co_cancel(c.co);
    caller_expect(&c, IO_CANCELLED);
    caller_end(&c);
    fake_ring_held = false;
    co_io_case_end();
}

/* The connection was made when the coroutine is cancelled, but the completion is still on its
 * way. */
static void connected_before_the_end(void)
{
    struct acceptor a;
    struct caller c;
    begin_accepting(&a, LATE * RUNS, MOST);
    caller_begin(&c, &a.address, "");
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    check_step("calls co_cancel(): the connection is made, and its operation completes later");
    co_cancel(c.co);
    caller_expect(&c, IO_OK);
    caller_end(&c);
    acceptor_end(&a);
}

static void calls(void)
{
    co_calls_look = expect_nothing_in_flight;
    accepts(0);
    accepts(LATE);
    refused(-EMFILE, true);
    refused(-ENFILE, true);
    refused(-ECONNABORTED, false);
    refused(-EINTR, false);
    refused_in_part(0, 1, -EMFILE);
    refused_in_part(1, 1, -ECONNABORTED);
    refused_in_part(MOST - 2, 2, -EMFILE);
    connects(0);
    connects(LATE);
    connected_before_the_end();
    unanswered(0);
    unanswered(LATE);
}

const struct check checks[] = {
    {"calls", calls},
    {0},
};

/* Operations in a ring of the grader's own: how they begin, complete, and are cancelled.
 * links: ring.c lent.c log.c */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fake_ring.h"
#include "ring.h"

#define OPERATION "ring-operation"
#define CANCEL    "ring-cancel"
#define FULL      "ring-full"
#define REFUSED   "ring-refused"

enum { MANY = 50, SMALL = 4, TURNS = 30, TURNS_REFUSED = 100, USED = 0x5a };

/* An operation that notes its completions. */
struct noted {
    struct operation op; /* first: so that its memory can be used again in its callback */
    int completions;
    int result;
    int order;      /* of its last completion among all of them */
    bool in_flight; /* as its callback has found it */
    bool again;     /* its callback begins it again, once */
    bool gone;      /* its callback uses its memory for something else */
};

static struct ring *ring;
static int completions;
static int pair[2]; /* of sockets, on which nothing happens unless the check writes */

static void nop(struct noted *n)
{
    io_uring_prep_nop(ring_begin(ring, &n->op));
}

static void on_completed(struct operation *op, int result, unsigned flags)
{
    struct noted *n = op->context;
    n->completions++;
    n->result = result;
    n->order = ++completions;
    n->in_flight = op->in_flight;
    if (n->again) {
        n->again = false;
        nop(n);
    } else if (n->gone) {
        memset(&n->op, USED, sizeof n->op);
    }
}

static void init(struct noted *n)
{
    *n = (struct noted){.op = {.completed = on_completed, .context = n}};
}

static void begin(unsigned entries, unsigned late, const char *hint)
{
    check_case();
    fake_ring_plan = (struct fake_ring_plan){.entries = entries, .late = late, .hint = hint};
    completions = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        check_impossible("socketpair: %s", strerror(errno));
    check_step("calls ring_new()");
    ring = ring_new();
    CHECK(ring != NULL, "module-refuses", "ring_new() returned NULL: %s", check_reason());
}

static void end(void)
{
    check_step("calls ring_free()");
    ring_free(ring);
    close(pair[0]);
    close(pair[1]);
}

static void turn(int timeout_ms)
{
    check_step("calls ring_turn() with a timeout of %d", timeout_ms);
    ring_turn(ring, timeout_ms);
}

static void turns(const char *until)
{
    check_step("calls ring_turn() again and again, until %s", until);
    for (int i = 0; i < TURNS; i++)
        ring_turn(ring, 0);
}

static void make_readable(void)
{
    if (write(pair[1], "x", 1) != 1)
        check_impossible("write: %s", strerror(errno));
}

static void poll_it(struct noted *n, bool multishot)
{
    struct io_uring_sqe *entry = ring_begin(ring, &n->op);
    if (multishot)
        io_uring_prep_poll_multishot(entry, pair[0], POLLIN);
    else
        io_uring_prep_poll_add(entry, pair[0], POLLIN);
}

static void expect_completed(struct noted *n, int count, int result, const char *hint)
{
    CHECK(n->completions == count, hint, "an operation completed %s; due is %d",
          check_times(n->completions), count);
    if (count > 0)
        CHECK(n->result == result, hint, "an operation completed with %d; due is %d", n->result,
              result);
}

/* Beginning and completing */

static void complete_once(void)
{
    struct noted many[MANY];
    begin(0, 0, OPERATION);
    check_step("begins %d operations that do nothing", MANY);
    for (int i = 0; i < MANY; i++) {
        init(&many[i]);
        nop(&many[i]);
        CHECK(many[i].op.in_flight, OPERATION, "after ring_begin() in_flight is false");
    }
    CHECK(fake_ring_seen.calls == 0, OPERATION,
          "ring_begin() made a system call, but the ring had space");
    turn(-1);
    for (int i = 0; i < MANY; i++) {
        expect_completed(&many[i], 1, 0, OPERATION);
        CHECK(many[i].order == i + 1, OPERATION,
              "callbacks were not called in the order of the completions");
        CHECK(!many[i].in_flight && !many[i].op.in_flight, OPERATION,
              "an operation has completed for the last time, but in_flight is true");
    }
    CHECK(fake_ring_seen.calls == 1, OPERATION, "one ring_turn() made %d system calls",
          fake_ring_seen.calls);
    turn(0);
    expect_completed(&many[0], 1, 0, OPERATION);
    end();
}

static void results(void)
{
    static const int due[] = {-EPIPE, -ECONNRESET, -EINTR, 77};
    struct noted n;
    begin(0, 0, OPERATION);
    for (unsigned i = 0; i < sizeof due / sizeof *due; i++) {
        init(&n);
        fake_ring_fail_next(IORING_OP_NOP, due[i]);
        nop(&n);
        turn(0);
        expect_completed(&n, 1, due[i], OPERATION);
    }
    end();
}

/* Its memory is the caller's again when the callback is called. */
static void used_again(void)
{
    static const struct operation zero;
    struct operation used;
    struct noted n;
    begin(0, 0, OPERATION);
    init(&n);
    n.again = true;
    nop(&n);
    check_step("begins an operation, whose callback begins it again");
    ring_turn(ring, 0);
    CHECK(n.completions >= 1, OPERATION, "the callback was not called");
    if (n.completions == 1)
        CHECK(n.op.in_flight, OPERATION,
              "a callback has begun its operation again, but in_flight is false");
    turns("it has completed twice");
    expect_completed(&n, 2, 0, OPERATION);
    init(&n);
    n.gone = true;
    nop(&n);
    check_step("begins an operation, whose callback uses its memory for something else");
    ring_turn(ring, 0);
    CHECK(n.completions == 1, OPERATION, "the callback was not called");
    memset(&used, USED, sizeof used);
    CHECK(
        memcmp(&n.op, &used, sizeof used) == 0, OPERATION,
        "the memory of an operation was changed after its last callback, which may have freed it");
    n.op = zero;
    end();
}

static void more_follow(void)
{
    struct noted n;
    begin(0, 0, OPERATION);
    init(&n);
    poll_it(&n, true);
    make_readable();
    check_step("begins an operation that completes again and again");
    for (int i = 1; i <= 3; i++) {
        ring_turn(ring, 0);
        CHECK(n.completions == i, OPERATION, "an operation completed %s; due is %d",
              check_times(n.completions), i);
        CHECK(n.in_flight && n.op.in_flight, OPERATION,
              "more completions of an operation follow (IORING_CQE_F_MORE), but in_flight is "
              "false");
    }
    CHECK(fake_ring_seen.submitted == 1, OPERATION, "the operation was submitted %d times",
          fake_ring_seen.submitted);
    fake_ring_fail_next(IORING_OP_POLL_ADD, -EINVAL);
    turn(0);
    expect_completed(&n, 4, -EINVAL, OPERATION);
    CHECK(!n.in_flight && !n.op.in_flight, OPERATION,
          "an operation has completed for the last time, but in_flight is true");
    end();
}

static void time_limits(void)
{
    static const int limits[] = {0, 1, 250, 1500, 60000, -1};
    struct noted n;
    begin(0, 0, OPERATION);
    init(&n);
    poll_it(&n, false);
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++) {
        int before = fake_ring_seen.calls;
        turn(limits[i]);
        CHECK(fake_ring_seen.calls == before + 1, OPERATION, "it made %d system calls",
              fake_ring_seen.calls - before);
        CHECK(fake_ring_seen.limit == limits[i], OPERATION,
              "the time limit of its wait is %lld ms; due is %d (0: no wait, -1: no limit)",
              fake_ring_seen.limit, limits[i]);
    }
    expect_completed(&n, 0, 0, OPERATION);
    make_readable();
    turn(0);
    expect_completed(&n, 1, POLLIN, OPERATION);
    int waits = fake_ring_seen.waits;
    struct noted two[2];
    for (int i = 0; i < 2; i++) {
        init(&two[i]);
        nop(&two[i]);
        turn(-1);
    }
    CHECK(fake_ring_seen.waits == waits, OPERATION,
          "ring_turn() waited for more completions, but there was one");
    end();
}

/* A callback begins more than the ring holds, and so the kernel takes and completes some. */
static struct noted spawned[2 * SMALL];

static void on_spawn(struct operation *op, int result, unsigned flags)
{
    on_completed(op, result, flags);
    for (int i = 0; i < 2 * SMALL; i++)
        nop(&spawned[i]);
}

static void meanwhile(void)
{
    struct noted n;
    begin(SMALL, 0, OPERATION);
    init(&n);
    n.op.completed = on_spawn;
    for (int i = 0; i < 2 * SMALL; i++)
        init(&spawned[i]);
    nop(&n);
    check_step("begins an operation, whose callback begins %d others", 2 * SMALL);
    ring_turn(ring, 0);
    CHECK(completions == 1, OPERATION,
          "one completion was there, and %d callbacks were called in the same ring_turn()",
          completions);
    turns("all have completed");
    for (int i = 0; i < 2 * SMALL; i++)
        expect_completed(&spawned[i], 1, 0, OPERATION);
    end();
}

static void operations(void)
{
    meanwhile();
    complete_once();
    results();
    used_again();
    more_follow();
    time_limits();
}

/* No space in a ring */

static void full(void)
{
    struct noted many[MANY];
    begin(SMALL, 0, FULL);
    check_step("begins %d operations; the ring has space for %d", MANY, SMALL);
    for (int i = 0; i < MANY; i++) {
        init(&many[i]);
        nop(&many[i]);
        CHECK(fake_ring_seen.calls <= i / SMALL + 1, FULL,
              "%d operations were begun, with %d system calls", i + 1, fake_ring_seen.calls);
    }
    turns("all have completed");
    for (int i = 0; i < MANY; i++) {
        expect_completed(&many[i], 1, 0, FULL);
        CHECK(many[i].order == i + 1, FULL, "operations were not submitted in their order");
    }
    end();
}

/* Cancelling */

static void cancel(struct noted *n)
{
    check_step("calls ring_cancel()");
    ring_cancel(ring, &n->op);
}

static void cancel_one(unsigned late)
{
    struct noted n, other;
    begin(0, late, CANCEL);
    init(&n);
    init(&other);
    cancel(&n);
    turn(0);
    CHECK(fake_ring_seen.cancels == 0, CANCEL,
          "the operation was not in flight, but the kernel was asked to cancel it");
    poll_it(&other, false);
    poll_it(&n, true);
    turn(0);
    cancel(&n);
    cancel(&n);
    CHECK(n.op.in_flight && n.completions == 0, CANCEL,
          "ring_cancel() was called, and no ring_turn() yet, but the operation is over");
    for (unsigned i = 0; i < late; i++) {
        turn(0);
        CHECK(n.op.in_flight, CANCEL,
              "the cancelled operation has not completed, but in_flight is false");
    }
    turns("nothing more completes");
    cancel(&n);
    turns("nothing more completes");
    expect_completed(&n, 1, -ECANCELED, CANCEL);
    expect_completed(&other, 0, 0, CANCEL);
    CHECK(!n.op.in_flight, CANCEL, "the cancelled operation has completed, but in_flight is true");
    CHECK(fake_ring_seen.cancels == 1, CANCEL,
          "an operation was to be cancelled, and the kernel was asked %d times",
          fake_ring_seen.cancels);
    poll_it(&n, false);
    make_readable();
    check_step("begins the cancelled operation again");
    for (int i = 0; i < TURNS; i++)
        ring_turn(ring, 0);
    expect_completed(&n, 2, POLLIN, CANCEL);
    expect_completed(&other, 1, POLLIN, CANCEL);
    end();
}

/* It was begun again after it had been cancelled: then it can be cancelled again. */
static void cancel_again(void)
{
    struct noted n;
    begin(0, 0, CANCEL);
    init(&n);
    for (int i = 1; i <= 3; i++) {
        poll_it(&n, false);
        cancel(&n);
        turns("nothing more completes");
        expect_completed(&n, i, -ECANCELED, CANCEL);
    }
    end();
}

/* More requests than there is space for. */
static void cancel_many(void)
{
    struct noted many[MANY];
    begin(SMALL, 0, CANCEL);
    check_step("begins %d operations and cancels them; the ring has space for %d", MANY, SMALL);
    for (int i = 0; i < MANY; i++) {
        init(&many[i]);
        poll_it(&many[i], false);
    }
    for (int i = 0; i < MANY; i++)
        ring_cancel(ring, &many[i].op);
    turns("all have completed");
    for (int i = 0; i < MANY; i++)
        expect_completed(&many[i], 1, -ECANCELED, CANCEL);
    end();
}

/* A request finds nothing, and its operation goes on. */
static void cancel_missed(void)
{
    struct noted n;
    begin(0, 0, CANCEL);
    init(&n);
    poll_it(&n, false);
    turn(0);
    check_step("has two requests to cancel find nothing (-ENOENT): the operation is in flight");
    fake_ring_missed = 2;
    cancel(&n);
    turns("nothing more completes");
    expect_completed(&n, 1, -ECANCELED, CANCEL);
    end();
}

static void cancels(void)
{
    cancel_one(0);
    cancel_one(3);
    cancel_again();
    cancel_many();
    cancel_missed();
}

/* The kernel does not take what is handed over */

enum { LASTING = 1000000, PASSING = 20, TURN_MS = 5, GOES_ON = 78 };

static void fill(struct noted *noted, int count)
{
    for (int i = 0; i < count; i++) {
        init(&noted[i]);
        nop(&noted[i]);
    }
}

/* A child of the program: what the server does when the kernel refuses each call. Ends. */
static _Noreturn void be_refused(int count)
{
    static struct noted noted[MANY];
    fake_ring_refuse(LASTING, ENOMEM);
    fill(noted, count);
    for (int i = 0; i < 2 * TURNS_REFUSED; i++)
        ring_turn(ring, TURN_MS);
    _exit(GOES_ON);
}

static void refused_for_ever(const char *what, int count)
{
    begin(SMALL, 0, REFUSED);
    check_step("%s, in a process of its own, while each call fails with ENOMEM", what);
    pid_t child = fork();
    if (child < 0)
        check_impossible("fork: %s", strerror(errno));
    if (child == 0)
        be_refused(count);
    int status;
    waitpid(child, &status, 0);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != FAKE_RING_SPINS, REFUSED,
          "it made %d calls, and each of them failed", FAKE_RING_REFUSALS);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != GOES_ON, REFUSED,
          "%d calls have failed one after the other, and it goes on", 2 * TURNS_REFUSED);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, REFUSED,
          "the process did not exit with status 1");
    end();
}

static void refused_for_a_moment(void)
{
    struct noted noted[SMALL];
    begin(SMALL, 0, REFUSED);
    check_step("calls ring_turn() while a few calls fail with EAGAIN");
    fill(noted, SMALL);
    fake_ring_refuse(PASSING, EAGAIN);
    for (int i = 0; i < 2 * PASSING; i++)
        ring_turn(ring, 0);
    for (int i = 0; i < SMALL; i++)
        CHECK(noted[i].completions == 1, REFUSED, "operation %d has not completed", i);
    end();
}

static void refused(void)
{
    refused_for_a_moment();
    refused_for_ever("calls ring_turn()", 1);
    refused_for_ever("begins more operations than the ring holds", 4 * SMALL);
}

const struct check checks[] = {
    {"operations", operations}, {"full", full}, {"cancels", cancels}, {"refused", refused}, {0},
};

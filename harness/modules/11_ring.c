/* Operations in a ring of the grader's own: how they begin, complete, and are cancelled; and the
 * buffers that it lends.
 * links: ring.c lent.c log.c */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fake_ring.h"
#include "lent.h"
#include "ring.h"

#define OPERATION "ring-operation"
#define CANCEL    "ring-cancel"
#define FULL      "ring-full"
#define REFUSED   "ring-refused"
#define LENT      "lent-buffer"

enum { MANY = 50, SMALL = 4, TURNS = 30, REFUSALS = 20, USED = 0x5a };

static struct ring *ring;
static const char *hint;

/* An operation that notes its completions. */
struct noted {
    struct operation op; /* first: so that its memory can be used again in its callback */
    int completions;
    int result;
    int order; /* of its last completion among all of them */
};

static int completions;

static void on_completed(struct operation *op, int result, unsigned flags)
{
    struct noted *n = op->context;
    n->completions++;
    n->result = result;
    n->order = ++completions;
}

static void init(struct noted *n)
{
    *n = (struct noted){.op = {.completed = on_completed, .context = n}};
}

static void nop(struct noted *n)
{
    io_uring_prep_nop(ring_begin(ring, &n->op));
}

static void begin(const char *hint_of_all, unsigned entries, unsigned late)
{
    check_case();
    hint = hint_of_all;
    fake_ring_plan = (struct fake_ring_plan){.entries = entries, .late = late, .hint = hint};
    completions = 0;
    check_step("calls ring_new()");
    ring = ring_new();
    CHECK(ring != NULL, "module-refuses", "ring_new() returned NULL: %s", check_reason());
}

static void turns(void)
{
    check_step("calls ring_turn() again and again, until nothing more completes");
    for (int i = 0; i < TURNS; i++)
        ring_turn(ring, 0);
}

/* One operation, on a socket */

/* What happens to an operation, and what has become of it then. */
struct step {
    enum does {
        ENDS, /* the last step */
        POLLS,
        REPEATS,  /* begins it as one that completes again and again */
        FOLLOWED, /* begins another one on the same socket */
        READABLE,
        FAILS,   /* completes with `value` next */
        MISSED,  /* so many requests to cancel find nothing */
        CANCELS, /* calls ring_cancel() */
        WAITS,   /* calls ring_turn() once, with `value` as the time limit */
        TURNED   /* calls it again and again */
    } does;
    int value;
    int completions, result;
    bool in_flight;
    int others;  /* completions of the other operation */
    int cancels; /* requests to the kernel */
};

static const struct step each_completion[] = {
    {REPEATS, 0, 0, 0, true},
    {READABLE, 0, 0, 0, true},
    {WAITS, 0, 1, POLLIN, true}, /* more completions follow: IORING_CQE_F_MORE */
    {WAITS, -1, 2, POLLIN, true},
    {FAILS, -EINVAL, 2, POLLIN, true},
    {WAITS, 0, 3, -EINVAL, false},
    {TURNED, 0, 3, -EINVAL, false},
    {ENDS},
};
static const struct step time_limits[] = {
    {POLLS, 0, 0, 0, true},    {WAITS, 0, 0, 0, true},       {WAITS, 1, 0, 0, true},
    {WAITS, 1500, 0, 0, true}, {WAITS, 60250, 0, 0, true},   {WAITS, -1, 0, 0, true},
    {READABLE, 0, 0, 0, true}, {WAITS, 0, 1, POLLIN, false}, {ENDS},
};
static const struct step cancelled[] = {
    {CANCELS, 0, 0, 0, false}, /* it is not in flight */
    {WAITS, 0, 0, 0, false, 0, 0},
    {FOLLOWED, 0, 0, 0, false},
    {REPEATS, 0, 0, 0, true},
    {WAITS, 0, 0, 0, true},
    {CANCELS, 0, 0, 0, true},
    {CANCELS, 0, 0, 0, true},
    {WAITS, 0, 0, 0, true, 0, 1}, /* the completion is late */
    {WAITS, 0, 0, 0, true, 0, 1},
    {WAITS, 0, 1, -ECANCELED, false, 0, 1},
    {CANCELS, 0, 1, -ECANCELED, false, 0, 1},
    {TURNED, 0, 1, -ECANCELED, false, 0, 1},
    {POLLS, 0, 1, -ECANCELED, true, 0, 1}, /* it can be cancelled again */
    {CANCELS, 0, 1, -ECANCELED, true, 0, 1},
    {TURNED, 0, 2, -ECANCELED, false, 0, 2},
    {POLLS, 0, 2, -ECANCELED, true, 0, 2},
    {READABLE, 0, 2, -ECANCELED, true, 0, 2},
    {TURNED, 0, 3, POLLIN, false, 1, 2},
    {ENDS},
};
/* A request finds nothing, but its operation goes on. */
static const struct step missed[] = {
    {POLLS, 0, 0, 0, true},
    {WAITS, 0, 0, 0, true},
    {MISSED, 2, 0, 0, true},
    {CANCELS, 0, 0, 0, true},
    {TURNED, 0, 1, -ECANCELED, false, 0, 3},
    {ENDS},
};

static int pair[2]; /* of sockets */

static void poll_it(struct noted *n, bool repeats)
{
    struct io_uring_sqe *entry = ring_begin(ring, &n->op);
    if (repeats)
        io_uring_prep_poll_multishot(entry, pair[0], POLLIN);
    else
        io_uring_prep_poll_add(entry, pair[0], POLLIN);
}

static void turn(int limit, bool completes)
{
    struct fake_ring_seen before = fake_ring_seen;
    check_step("calls ring_turn() with a timeout of %d", limit);
    ring_turn(ring, limit);
    CHECK(fake_ring_seen.calls == before.calls + 1, hint, "one ring_turn() made %d system calls",
          fake_ring_seen.calls - before.calls);
    CHECK(fake_ring_seen.limit == limit, hint,
          "the time limit of its wait is %lld ms; due is %d (0: no wait, -1: no limit)",
          fake_ring_seen.limit, limit);
    CHECK(fake_ring_seen.waits == before.waits || !completes, hint,
          "ring_turn() waited for more completions, but there was one");
}

static void take(const struct step *s, struct noted *n, struct noted *other)
{
    static const char *const names[] = {
        [POLLS] = "begins an operation",
        [REPEATS] = "begins an operation that completes again and again",
        [FOLLOWED] = "begins another operation",
        [READABLE] = "makes readable what it polls",
        [FAILS] = "has it end with an error",
        [MISSED] = "has requests to cancel find nothing, though the operation is in flight",
        [CANCELS] = "calls ring_cancel()",
    };
    if (s->does < WAITS)
        check_step("%s", names[s->does]);
    if (s->does == POLLS || s->does == REPEATS)
        poll_it(n, s->does == REPEATS);
    else if (s->does == FOLLOWED)
        poll_it(other, false);
    else if (s->does == READABLE && write(pair[1], "x", 1) != 1)
        check_impossible("write: %s", strerror(errno));
    else if (s->does == FAILS)
        fake_ring_fail(IORING_OP_POLL_ADD, 0, s->value);
    else if (s->does == MISSED)
        fake_ring_missed = s->value;
    else if (s->does == CANCELS)
        ring_cancel(ring, &n->op);
    else if (s->does == WAITS)
        turn(s->value, s->completions > n->completions);
    else if (s->does == TURNED)
        turns();
}

static void follow(const char *hint_of_all, unsigned late, const struct step *steps)
{
    struct noted n, other;
    begin(hint_of_all, 0, late);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        check_impossible("socketpair: %s", strerror(errno));
    init(&n);
    init(&other);
    for (const struct step *s = steps; s->does != ENDS; s++) {
        take(s, &n, &other);
        CHECK(n.completions == s->completions && n.result == s->result, hint,
              "the operation has completed %s, last with %d; due are %d, and %d",
              check_times(n.completions), n.result, s->completions, s->result);
        CHECK(n.op.in_flight == s->in_flight, hint, "in_flight of the operation is %s",
              n.op.in_flight ? "true, but it is over" : "false, but it is in flight");
        CHECK(other.completions == s->others, hint, "the other operation completed %s; due are %d",
              check_times(other.completions), s->others);
        CHECK(fake_ring_seen.cancels == s->cancels, hint,
              "the kernel was asked to cancel %s; due are %d", check_times(fake_ring_seen.cancels),
              s->cancels);
    }
    ring_free(ring);
    close(pair[0]);
    close(pair[1]);
}

/* Several operations */

/* So many are begun, in a ring with as many entries, or with space for all (0). */
static void begin_many(const char *hint_of_all, unsigned entries, int refusals)
{
    struct noted many[MANY];
    begin(hint_of_all, entries, 0);
    fake_ring_refusals = refusals;
    check_step("begins %d operations that do nothing; the ring has space for %s", MANY,
               entries == 0 ? "all" : "a few, and the kernel has to take them");
    for (int i = 0; i < MANY; i++) {
        init(&many[i]);
        nop(&many[i]);
        int most = entries == 0 ? 0 : i / (int)entries + refusals;
        CHECK(fake_ring_seen.calls <= most, hint,
              "%d operations were begun, with %d system calls; allowed are %d", i + 1,
              fake_ring_seen.calls, most);
    }
    turns();
    for (int i = 0; i < MANY; i++)
        CHECK(many[i].completions == 1 && many[i].order == i + 1, hint,
              "operation %d completed %s; last as number %d; due is once, in order", i + 1,
              check_times(many[i].completions), many[i].order);
    ring_free(ring);
}

static struct noted spawned[2 * SMALL];

/* Uses the memory of its operation for something else. And begins more operations than the ring
 * holds, so that the kernel takes and completes some. */
static void on_spawn(struct operation *op, int result, unsigned flags)
{
    completions++;
    memset(op, USED, sizeof *op);
    for (int i = 0; i < 2 * SMALL; i++)
        nop(&spawned[i]);
}

static void meanwhile(void)
{
    struct operation used;
    struct noted n = {.op = {.completed = on_spawn}};
    begin(OPERATION, SMALL, 0);
    for (int i = 0; i < 2 * SMALL; i++)
        init(&spawned[i]);
    check_step("begins an operation, whose callback begins %d others", 2 * SMALL);
    nop(&n);
    ring_turn(ring, 0);
    CHECK(completions == 1, hint,
          "one completion was there, and %d callbacks were called in the same ring_turn()",
          completions);
    memset(&used, USED, sizeof used);
    CHECK(
        memcmp(&n.op, &used, sizeof used) == 0, hint,
        "the memory of an operation was changed after its last callback, which may have freed it");
    ring_free(ring);
}

static void operations(void)
{
    meanwhile();
    begin_many(OPERATION, 0, 0);
    follow(OPERATION, 0, each_completion);
    follow(OPERATION, 0, time_limits);
}

static void full(void)
{
    begin_many(FULL, SMALL, 0);
}

static void cancels(void)
{
    follow(CANCEL, 2, cancelled);
    follow(CANCEL, 0, missed);
}

/* The kernel does not take what is handed over */

/* In a process of its own, which has to end. */
static void refused_for_ever(void)
{
    static struct noted many[MANY];
    begin(REFUSED, SMALL, 0);
    check_step("begins operations, in a process of its own, while each call fails with ENOMEM");
    pid_t child = fork();
    if (child == 0) {
        fake_ring_refusals = INT_MAX;
        for (int i = 0; i < MANY; i++)
            nop(&many[i]);
        for (int i = 0; i < FAKE_RING_REFUSALS; i++)
            ring_turn(ring, 1);
        _exit(FAKE_RING_SPINS);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        check_impossible("no child: %s", strerror(errno));
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != FAKE_RING_SPINS, REFUSED,
          "%d calls have failed one after the other, and it goes on", FAKE_RING_REFUSALS);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, REFUSED,
          "the process did not exit with status 1");
    ring_free(ring);
}

static void refused(void)
{
    begin_many(REFUSED, SMALL, REFUSALS);
    refused_for_ever();
}

/* Lent buffers */

static struct taken {
    void *memory;
    unsigned flags; /* of its completion */
} taken[LENT_COUNT];

static void take_buffer(struct taken *t, int mark)
{
    unsigned size;
    int number = fake_ring_take_buffer(&t->memory, &size);
    CHECK(number >= 0, LENT, "the kernel finds no free buffer, but some have to be free");
    CHECK(size == LENT_BYTES, LENT, "a buffer has %u bytes; due are %d", size, LENT_BYTES);
    memset(t->memory, mark, size);
    t->flags = IORING_CQE_F_BUFFER | (unsigned)number << IORING_CQE_BUFFER_SHIFT |
               (mark % 2 ? IORING_CQE_F_MORE : IORING_CQE_F_SOCK_NONEMPTY);
}

static void return_buffer(const struct lent *lent, const struct taken *t, int mark)
{
    const uint8_t *bytes = t->memory;
    CHECK(bytes[0] == (uint8_t)mark && bytes[LENT_BYTES - 1] == (uint8_t)mark, LENT,
          "the memory of two buffers overlaps");
    CHECK(lent_bytes(lent, t->flags) == bytes, LENT,
          "lent_bytes() returned other memory than that of buffer %u, which the kernel has filled",
          t->flags >> IORING_CQE_BUFFER_SHIFT);
    lent_return(ring_lent(ring), t->flags);
}

static void expect_free(unsigned due)
{
    unsigned there = fake_ring_buffers();
    CHECK(there == due, LENT, "%u buffers are in the ring of free ones; due are %u", there, due);
}

static void lends(void)
{
    begin(LENT, 0, 0);
    for (int round = 0; round < 3; round++) {
        expect_free(LENT_COUNT);
        check_step("has the kernel fill all %d buffers", LENT_COUNT);
        for (int i = 0; i < LENT_COUNT; i++)
            take_buffer(&taken[i], i);
        expect_free(0);
        check_step("calls lent_bytes() and lent_return() for each, the last one first");
        for (int i = LENT_COUNT - 1; i >= 0; i--) {
            return_buffer(ring_lent(ring), &taken[i], i);
            expect_free((unsigned)(LENT_COUNT - i));
        }
    }
    ring_free(ring);
}

const struct check checks[] = {
    {"operations", operations}, {"full", full},   {"cancels", cancels},
    {"refused", refused},       {"lends", lends}, {0},
};

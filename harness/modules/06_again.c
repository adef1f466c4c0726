/* A callback that requests another call, which comes without readiness.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <unistd.h>

#include "watched_events.h"

#define AGAIN "again-next-iteration"

enum { ASKED = 5, MANY = 40 };

/* A callback that asks for another call, `left` times more. */
struct asker {
    struct heard heard;
    int left;
};

static void on_ask(struct events *e, struct watch *watch, unsigned what)
{
    struct asker *asker = (struct asker *)heard_note(watch, what);
    if (asker->left-- > 0)
        events_again(e, watch);
}

static struct asker new_asker(int fd, int left)
{
    struct asker asker = {.heard = heard_new(fd), .left = left};
    asker.heard.watch.call = on_ask;
    return asker;
}

/* An iteration that could sleep for long, and must not. */
static void turn_at_once(void)
{
    check_step("calls events_turn() with a timeout of -1");
    int before = atomic_load(&watched_waits);
    events_turn(watched_events, -1);
    CHECK(atomic_load(&watched_waits) == before || watched_timeout_ms == 0, AGAIN,
          "a watch is due to be called again, but the backend was told to wait (%d ms)",
          watched_timeout_ms);
}

static void expect_no_bit(const struct heard *heard)
{
    CHECK(heard->what == 0, AGAIN, "nothing is ready, but the callback of descriptor %d got %s",
          heard->watch.fd, watched_names_of(heard->what));
}

static void once(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    watched_turns();
    watched_again(&heard.watch);
    watched_again(&heard.watch);
    heard_expect_calls(&heard, 0, 0, AGAIN);
    turn_at_once();
    expect_no_bit(&heard);
    heard_expect_calls(&heard, 1, 0, AGAIN);
    watched_turn();
    heard_expect_calls(&heard, 0, 0, AGAIN);
    watched_end();
}

/* The call that was requested tells readiness, too. */
static void ready_as_well(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    pair_fill(pair.fd);
    watched_add(&heard.watch, EVENT_READ | EVENT_WRITE);
    watched_turns();
    watched_again(&heard.watch);
    pair_make_readable(pair);
    turn_at_once();
    heard_expect_calls(&heard, 1, EVENT_READ, AGAIN);
    watched_again(&heard.watch);
    pair_make_readable(pair);
    pair_read_all(pair.peer);
    turn_at_once();
    heard_expect_calls(&heard, 1, EVENT_READ | EVENT_WRITE, AGAIN);
    watched_set(&heard.watch, EVENT_READ);
    watched_turns();
    heard.calls = 0;
    watched_set(&heard.watch, 0);
    watched_again(&heard.watch);
    turn_at_once();
    expect_no_bit(&heard);
    heard_expect_calls(&heard, 1, 0, AGAIN);
    watched_end();
}

/* In each iteration one requests another call, and another one is ready. */
static void beside_others(void)
{
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    struct asker asker = new_asker(a.fd, ASKED);
    struct heard other = heard_new(b.fd);
    watched_add(&asker.heard.watch, EVENT_READ);
    watched_add(&other.watch, EVENT_READ);
    watched_again(&asker.heard.watch);
    for (int i = 0; i <= ASKED; i++) {
        pair_make_readable(b);
        turn_at_once();
        heard_expect_calls(&asker.heard, 1, 0, AGAIN);
        heard_expect_calls(&other, 1, EVENT_READ, AGAIN);
    }
    watched_turn();
    heard_expect_calls(&asker.heard, 0, 0, AGAIN);
    watched_end();
}

/* Of two watches that are ready, the one that is called first requests a call of the other, which
 * still comes in this iteration. */
struct requester {
    struct heard heard;
    struct requester *other;
};

static void on_request(struct events *e, struct watch *watch, unsigned what)
{
    struct requester *requester = (struct requester *)heard_note(watch, what);
    pair_read_all(watch->fd);
    if (requester->other->heard.calls == 0)
        watched_again(&requester->other->heard.watch);
}

static void still_due(void)
{
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    struct requester one = {.heard = heard_new(a.fd)}, two = {.heard = heard_new(b.fd)};
    one.heard.watch.call = two.heard.watch.call = on_request;
    one.other = &two;
    two.other = &one;
    watched_add(&one.heard.watch, EVENT_READ);
    watched_add(&two.heard.watch, EVENT_READ);
    pair_make_readable(a);
    pair_make_readable(b);
    watched_turn();
    heard_expect_calls(&one.heard, 1, EVENT_READ, AGAIN);
    heard_expect_calls(&two.heard, 1, EVENT_READ, AGAIN);
    watched_turn();
    CHECK(one.heard.calls + two.heard.calls == 0, AGAIN,
          "a watch that was still to be called was requested again, and was called a second time");
    watched_end();
}

static void taken_away(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    watched_again(&heard.watch);
    watched_del(&heard.watch);
    watched_turn();
    heard_expect_calls(&heard, 0, 0, AGAIN);
    watched_add(&heard.watch, EVENT_READ);
    watched_turns();
    heard_expect_calls(&heard, 0, 0, AGAIN);
    watched_end();
}

static void many(void)
{
    static struct asker askers[MANY];
    watched_begin();
    for (int i = 0; i < MANY; i++) {
        struct pair pair = pair_new(3);
        askers[i] = new_asker(pair.fd, i % 3);
        watched_add(&askers[i].heard.watch, EVENT_READ);
        watched_again(&askers[i].heard.watch);
    }
    for (int round = 0; round < 4; round++) {
        watched_turn();
        for (int i = 0; i < MANY; i++)
            heard_expect_calls(&askers[i].heard, round <= i % 3, 0, AGAIN);
    }
    watched_end();
}

const struct check checks[] = {
    {"once", once},
    {"ready_as_well", ready_as_well},
    {"beside_others", beside_others},
    {"still_due", still_due},
    {"taken_away", taken_away},
    {"many", many},
    {0},
};

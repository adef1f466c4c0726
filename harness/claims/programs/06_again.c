/* A callback that requests another call, which comes without readiness.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include "watched_events.h"

#define AGAIN "again-next-iteration"

enum { ASKED = 5, MANY = 40 };

/* A callback that asks for another call, `left` times more. */
struct asker {
    struct heard heard;
    int left;
};

static void on_ask(struct events *e, int fd, unsigned what, void *context)
{
    struct asker *asker = context;
    heard_note(&asker->heard, fd, what);
    if (asker->left-- > 0)
        events_again(e, fd, what & (EVENT_READ | EVENT_WRITE));
}

static void again(int fd, unsigned event)
{
    check_step("calls events_again() for descriptor %d, %s", fd, watched_name_of(event));
    events_again(watched_events, fd, event);
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

static void once(void)
{
    struct heard reader = {0}, writer = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
    watched_turns();
    again(pair.fd, EVENT_READ);
    heard_expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    turn_at_once();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    watched_turn();
    heard_expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    pair_fill(pair.fd);
    watched_turns();
    writer = (struct heard){0};
    again(pair.fd, EVENT_WRITE);
    again(pair.fd, EVENT_READ);
    again(pair.fd, EVENT_READ);
    turn_at_once();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    heard_expect_calls(&writer, 1, pair.fd, EVENT_WRITE, AGAIN);
    pair_make_readable(pair);
    again(pair.fd, EVENT_READ);
    turn_at_once();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    watched_end();
}

/* In each iteration one requests another call, and another one is ready. */
static void beside_others(void)
{
    struct asker asker = {.left = ASKED};
    struct heard other = {0};
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    watched_add(a.fd, EVENT_READ, on_ask, &asker);
    watched_add(b.fd, EVENT_READ, heard_on_event, &other);
    again(a.fd, EVENT_READ);
    for (int i = 0; i <= ASKED; i++) {
        pair_make_readable(b);
        turn_at_once();
        heard_expect_calls(&asker.heard, 1, a.fd, EVENT_READ, AGAIN);
        heard_expect_calls(&other, 1, b.fd, EVENT_READ, AGAIN);
    }
    watched_turn();
    heard_expect_calls(&asker.heard, 0, a.fd, EVENT_READ, AGAIN);
    watched_end();
}

static void taken_away(void)
{
    struct heard heard = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    again(pair.fd, EVENT_READ);
    watched_turn();
    watched_add(pair.fd, EVENT_READ, heard_on_event, &heard);
    again(pair.fd, EVENT_WRITE);
    watched_turn();
    heard_expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    again(pair.fd, EVENT_READ);
    watched_del(pair.fd, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    watched_end();
}

/* More of them than the list has space for in the beginning. */
static void many(void)
{
    struct asker askers[MANY] = {0};
    struct pair pairs[MANY];
    watched_begin();
    for (int i = 0; i < MANY; i++) {
        pairs[i] = pair_new(3);
        askers[i].left = i % 3;
        watched_add(pairs[i].fd, EVENT_READ, on_ask, &askers[i]);
        again(pairs[i].fd, EVENT_READ);
    }
    for (int round = 0; round < 4; round++) {
        watched_turn();
        for (int i = 0; i < MANY; i++)
            heard_expect_calls(&askers[i].heard, round <= i % 3, pairs[i].fd, EVENT_READ, AGAIN);
    }
    watched_end();
}

const struct check checks[] = {
    {"once", once},
    {"beside_others", beside_others},
    {"taken_away", taken_away},
    {"many", many},
    {0},
};

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

static void again(struct events *e, int fd, unsigned event)
{
    check_step("calls events_again() for descriptor %d, %s", fd, watched_name_of(event));
    events_again(e, fd, event);
}

/* An iteration that could sleep for long, and must not. */
static void turn_at_once(struct events *e)
{
    check_step("calls events_turn() with a timeout of -1");
    int before = atomic_load(&watched_waits);
    events_turn(e, -1);
    CHECK(atomic_load(&watched_waits) == before || watched_timeout_ms == 0, AGAIN,
          "a watch is due to be called again, but the backend was told to wait (%d ms)",
          watched_timeout_ms);
}

static void once(void)
{
    struct heard reader = {0}, writer = {0};
    struct events *e = watched_events_new();
    struct pair pair = pair_new(3);
    watched_add(e, pair.fd, EVENT_READ, heard_on_event, &reader);
    watched_turns(e);
    again(e, pair.fd, EVENT_READ);
    heard_expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    turn_at_once(e);
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    watched_turn(e);
    heard_expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    watched_add(e, pair.fd, EVENT_WRITE, heard_on_event, &writer);
    pair_fill(pair.fd);
    watched_turns(e);
    writer = (struct heard){0};
    again(e, pair.fd, EVENT_WRITE);
    again(e, pair.fd, EVENT_READ);
    again(e, pair.fd, EVENT_READ);
    turn_at_once(e);
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    heard_expect_calls(&writer, 1, pair.fd, EVENT_WRITE, AGAIN);
    pair_make_readable(pair);
    again(e, pair.fd, EVENT_READ);
    turn_at_once(e);
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    watched_events_free(e);
}

/* In each iteration one requests another call, and another one is ready. */
static void beside_others(void)
{
    struct asker asker = {.left = ASKED};
    struct heard other = {0};
    struct events *e = watched_events_new();
    struct pair a = pair_new(3), b = pair_new(3);
    watched_add(e, a.fd, EVENT_READ, on_ask, &asker);
    watched_add(e, b.fd, EVENT_READ, heard_on_event, &other);
    again(e, a.fd, EVENT_READ);
    for (int i = 0; i <= ASKED; i++) {
        pair_make_readable(b);
        turn_at_once(e);
        heard_expect_calls(&asker.heard, 1, a.fd, EVENT_READ, AGAIN);
        heard_expect_calls(&other, 1, b.fd, EVENT_READ, AGAIN);
    }
    watched_turn(e);
    heard_expect_calls(&asker.heard, 0, a.fd, EVENT_READ, AGAIN);
    watched_events_free(e);
}

static void taken_away(void)
{
    struct heard heard = {0};
    struct events *e = watched_events_new();
    struct pair pair = pair_new(3);
    again(e, pair.fd, EVENT_READ);
    watched_turn(e);
    watched_add(e, pair.fd, EVENT_READ, heard_on_event, &heard);
    again(e, pair.fd, EVENT_WRITE);
    watched_turn(e);
    heard_expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    again(e, pair.fd, EVENT_READ);
    watched_del(e, pair.fd, EVENT_READ);
    watched_turn(e);
    heard_expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    watched_events_free(e);
}

/* More of them than the list has space for in the beginning. */
static void many(void)
{
    struct asker askers[MANY] = {0};
    struct pair pairs[MANY];
    struct events *e = watched_events_new();
    for (int i = 0; i < MANY; i++) {
        pairs[i] = pair_new(3);
        askers[i].left = i % 3;
        watched_add(e, pairs[i].fd, EVENT_READ, on_ask, &askers[i]);
        again(e, pairs[i].fd, EVENT_READ);
    }
    for (int round = 0; round < 4; round++) {
        watched_turn(e);
        for (int i = 0; i < MANY; i++)
            heard_expect_calls(&askers[i].heard, round <= i % 3, pairs[i].fd, EVENT_READ, AGAIN);
    }
    watched_events_free(e);
}

const struct check checks[] = {
    {"once", once},
    {"beside_others", beside_others},
    {"taken_away", taken_away},
    {"many", many},
    {0},
};

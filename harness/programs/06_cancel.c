/* Cancelling: the watch goes, its callback is called once more, and may do what it likes.
 * links: events.c backend.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <stdlib.h>

#include "watching.h"

#define ONCE "cancelled-once"
#define BOTH "cancelled-both"

/* A callback that looks whether its watch is gone, and does something besides. */
struct waiter {
    struct heard heard;
    unsigned interest; /* in the call */
    int del_fd;        /* takes this watch away; -1: none */
    unsigned del_event;
    struct heard *next; /* adds a watch with this context; NULL: none */
};

static void on_cancel(struct events *e, int fd, unsigned what, void *context)
{
    struct waiter *waiter = context;
    hear(&waiter->heard, fd, what);
    waiter->interest = events_interest(e, fd);
    if (waiter->del_fd >= 0)
        del(e, waiter->del_fd, waiter->del_event);
    if (waiter->next != NULL)
        add(e, fd, what & EVENT_READ ? EVENT_READ : EVENT_WRITE, on_event, waiter->next);
}

static bool cancel(struct events *e, int fd, unsigned event)
{
    check_step("calls events_cancel() for descriptor %d, %s", fd, name_of(event));
    return events_cancel(e, fd, event);
}

static bool cancel_all(struct events *e, int fd)
{
    check_step("calls events_cancel_all() for descriptor %d", fd);
    return events_cancel_all(e, fd);
}

/* It was called once, with EVENT_CANCELLED and the event that was watched. */
static void expect_cancelled(struct waiter *waiter, int fd, unsigned event, const char *hint)
{
    unsigned what = waiter->heard.what;
    expect_calls(&waiter->heard, 1, fd, event, hint);
    CHECK(what == (event | EVENT_CANCELLED), hint, "the callback was told %s instead of %s",
          names_of(what), names_of(event | EVENT_CANCELLED));
    CHECK(!(waiter->interest & event), hint, "in the callback %s was still watched",
          name_of(event));
}

static void once(void)
{
    struct waiter reader = {.del_fd = -1}, writer = {.del_fd = -1};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    CHECK(!cancel(e, pair.fd, EVENT_READ), ONCE, "events_cancel() returned true: nobody watched");
    add(e, pair.fd, EVENT_READ, on_cancel, &reader);
    CHECK(!cancel(e, pair.fd, EVENT_WRITE), ONCE,
          "events_cancel() returned true: EVENT_WRITE was not watched");
    expect_calls(&reader.heard, 0, pair.fd, EVENT_READ, ONCE);
    add(e, pair.fd, EVENT_WRITE, on_cancel, &writer);
    CHECK(cancel(e, pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    expect_cancelled(&reader, pair.fd, EVENT_READ, ONCE);
    expect_calls(&writer.heard, 0, pair.fd, EVENT_WRITE, ONCE);
    expect_interest(e, pair.fd, EVENT_WRITE, ONCE);
    CHECK(!cancel(e, pair.fd, EVENT_READ), ONCE, "events_cancel() returned true once more");
    make_readable(pair);
    turn(e);
    expect_calls(&reader.heard, 0, pair.fd, EVENT_READ, ONCE);
    expect_calls(&writer.heard, 1, pair.fd, EVENT_WRITE, ONCE);
    CHECK(cancel(e, pair.fd, EVENT_WRITE), ONCE, "events_cancel() returned false");
    expect_cancelled(&writer, pair.fd, EVENT_WRITE, ONCE);
    turn(e);
    CHECK(reported == 0, ONCE, "nothing is watched, and the backend reports %d descriptors",
          reported);
    free_events(e);
}

/* The callback waits for the next event of its descriptor at once. */
static void add_in_the_callback(void)
{
    struct heard next = {0};
    struct waiter waiter = {.del_fd = -1, .next = &next};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    add(e, pair.fd, EVENT_READ, on_cancel, &waiter);
    CHECK(cancel(e, pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    expect_cancelled(&waiter, pair.fd, EVENT_READ, ONCE);
    expect_interest(e, pair.fd, EVENT_READ, ONCE);
    make_readable(pair);
    turn(e);
    expect_calls(&next, 1, pair.fd, EVENT_READ, ONCE);
    free_events(e);
}

static struct waiter **to_free;

static void on_free(struct events *e, int fd, unsigned what, void *context)
{
    (void)e, (void)fd, (void)what;
    CHECK(*to_free == context, ONCE, "the callback was called again, and its context was freed");
    *to_free = NULL;
    free(context);
}

/* The context is gone when the callback is over. */
static void free_in_the_callback(void)
{
    struct waiter *waiter = calloc(1, sizeof *waiter);
    if (waiter == NULL)
        check_impossible("no memory");
    to_free = &waiter;
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    add(e, pair.fd, EVENT_READ, on_free, waiter);
    CHECK(cancel(e, pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    CHECK(waiter == NULL, ONCE, "events_cancel() returned, and the callback was not called");
    expect_interest(e, pair.fd, 0, ONCE);
    free_events(e);
}

/* Two that are ready in one turn: whoever is called first cancels the other. */
struct rival {
    struct heard heard;
    int other;
};

static void on_rival(struct events *e, int fd, unsigned what, void *context)
{
    struct rival *rival = context;
    hear(&rival->heard, fd, what);
    if (!(what & EVENT_CANCELLED))
        cancel(e, rival->other, EVENT_READ);
}

static void in_the_turn(void)
{
    struct events *e = new_events();
    struct pair a = new_pair(3), b = new_pair(3);
    struct rival one = {.other = b.fd}, other = {.other = a.fd};
    make_readable(a);
    make_readable(b);
    add(e, a.fd, EVENT_READ, on_rival, &one);
    add(e, b.fd, EVENT_READ, on_rival, &other);
    turn(e);
    CHECK(
        one.heard.calls == 1 && other.heard.calls == 1, ONCE,
        "one callback has cancelled the other's watch, and they were called %d times and %d times",
        one.heard.calls, other.heard.calls);
    unsigned cancelled = (one.heard.what ^ other.heard.what) & EVENT_CANCELLED;
    CHECK(cancelled != 0, ONCE, "one of the two had to be told EVENT_CANCELLED, and only one");
    free_events(e);
}

/* Of all events of a descriptor */

static void all(void)
{
    struct waiter reader = {.del_fd = -1}, writer = {.del_fd = -1}, other = {.del_fd = -1};
    struct events *e = new_events();
    struct pair pair = new_pair(3), neighbour = new_pair(3);
    add(e, neighbour.fd, EVENT_READ, on_cancel, &other);
    CHECK(!cancel_all(e, pair.fd), BOTH, "events_cancel_all() returned true: nobody watched");
    for (unsigned events = 1; events <= (EVENT_READ | EVENT_WRITE); events++) {
        check_case();
        if (events & EVENT_READ)
            add(e, pair.fd, EVENT_READ, on_cancel, &reader);
        if (events & EVENT_WRITE)
            add(e, pair.fd, EVENT_WRITE, on_cancel, &writer);
        CHECK(cancel_all(e, pair.fd), BOTH, "events_cancel_all() returned false");
        if (events & EVENT_READ)
            expect_cancelled(&reader, pair.fd, EVENT_READ, BOTH);
        if (events & EVENT_WRITE)
            expect_cancelled(&writer, pair.fd, EVENT_WRITE, BOTH);
        expect_interest(e, pair.fd, 0, BOTH);
        CHECK(!cancel_all(e, pair.fd), BOTH, "events_cancel_all() returned true once more");
    }
    expect_calls(&other.heard, 0, neighbour.fd, EVENT_READ, BOTH);
    expect_interest(e, neighbour.fd, EVENT_READ, BOTH);
    free_events(e);
}

/* Whichever of the two is called first takes the other's watch away. */
static void all_but_one(void)
{
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    struct waiter reader = {.del_fd = pair.fd, .del_event = EVENT_WRITE};
    struct waiter writer = {.del_fd = pair.fd, .del_event = EVENT_READ};
    add(e, pair.fd, EVENT_READ, on_cancel, &reader);
    add(e, pair.fd, EVENT_WRITE, on_cancel, &writer);
    CHECK(cancel_all(e, pair.fd), BOTH, "events_cancel_all() returned false");
    int calls = reader.heard.calls + writer.heard.calls;
    CHECK(calls == 1, BOTH,
          "the first callback has taken the second watch away, and there were %d calls", calls);
    expect_interest(e, pair.fd, 0, BOTH);
    free_events(e);
}

/* What is left in the end. */
static void at_the_end(void)
{
    enum { COUNT = 5 };
    struct waiter readers[COUNT], writers[COUNT];
    struct pair pairs[COUNT];
    struct events *e = new_events();
    for (int i = 0; i < COUNT; i++) {
        pairs[i] = new_pair(3 + 40 * i);
        readers[i] = writers[i] = (struct waiter){.del_fd = -1};
        add(e, pairs[i].fd, EVENT_READ, on_cancel, &readers[i]);
        add(e, pairs[i].fd, EVENT_WRITE, on_cancel, &writers[i]);
    }
    free_events(e);
    for (int i = 0; i < COUNT; i++) {
        expect_cancelled(&readers[i], pairs[i].fd, EVENT_READ, BOTH);
        expect_cancelled(&writers[i], pairs[i].fd, EVENT_WRITE, BOTH);
    }
}

const struct check checks[] = {
    {"once", once},
    {"add_in_the_callback", add_in_the_callback},
    {"free_in_the_callback", free_in_the_callback},
    {"in_the_turn", in_the_turn},
    {"all", all},
    {"all_but_one", all_but_one},
    {"at_the_end", at_the_end},
    {0},
};

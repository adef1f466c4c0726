/* Cancelling: the watch goes, its callback is called once more, and may do what it likes.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <stdlib.h>

#include "watched_events.h"

#define ONCE   "cancelled-once"
#define BOTH   "cancelled-both"
#define END    "cancelled-at-the-end"
#define BEYOND "beyond-the-table"

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
    heard_note(&waiter->heard, fd, what);
    waiter->interest = events_interest(e, fd);
    if (waiter->del_fd >= 0)
        watched_del(waiter->del_fd, waiter->del_event);
    if (waiter->next != NULL)
        watched_add(fd, what & EVENT_READ ? EVENT_READ : EVENT_WRITE, heard_on_event, waiter->next);
}

static bool cancel(int fd, unsigned event)
{
    check_step("calls events_cancel() for descriptor %d, %s", fd, watched_name_of(event));
    return events_cancel(watched_events, fd, event);
}

static bool cancel_all(int fd)
{
    check_step("calls events_cancel_all() for descriptor %d", fd);
    return events_cancel_all(watched_events, fd);
}

/* It was called once, with EVENT_CANCELLED and the event that was watched. */
static void expect_cancelled(struct waiter *waiter, int fd, unsigned event, const char *hint)
{
    unsigned what = waiter->heard.what;
    heard_expect_calls(&waiter->heard, 1, fd, event, hint);
    CHECK(what == (event | EVENT_CANCELLED), hint, "the callback got %s instead of %s",
          watched_names_of(what), watched_names_of(event | EVENT_CANCELLED));
    CHECK(!(waiter->interest & event), hint, "in the callback %s was still watched",
          watched_name_of(event));
}

static void once(void)
{
    struct waiter reader = {.del_fd = -1}, writer = {.del_fd = -1};
    watched_begin();
    struct pair pair = pair_new(3);
    CHECK(!cancel(pair.fd, EVENT_READ), ONCE,
          "events_cancel() returned true, but nothing was watched");
    watched_add(pair.fd, EVENT_READ, on_cancel, &reader);
    CHECK(!cancel(pair.fd, EVENT_WRITE), ONCE,
          "events_cancel() returned true, but EVENT_WRITE was not watched");
    heard_expect_calls(&reader.heard, 0, pair.fd, EVENT_READ, ONCE);
    watched_add(pair.fd, EVENT_WRITE, on_cancel, &writer);
    CHECK(cancel(pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    expect_cancelled(&reader, pair.fd, EVENT_READ, ONCE);
    heard_expect_calls(&writer.heard, 0, pair.fd, EVENT_WRITE, ONCE);
    watched_expect_interest(pair.fd, EVENT_WRITE, ONCE);
    CHECK(!cancel(pair.fd, EVENT_READ), ONCE, "events_cancel() returned true a second time");
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&reader.heard, 0, pair.fd, EVENT_READ, ONCE);
    heard_expect_calls(&writer.heard, 1, pair.fd, EVENT_WRITE, ONCE);
    CHECK(cancel(pair.fd, EVENT_WRITE), ONCE, "events_cancel() returned false");
    expect_cancelled(&writer, pair.fd, EVENT_WRITE, ONCE);
    watched_turn();
    CHECK(watched_reported == 0, ONCE, "nothing is watched, but the backend reports %d descriptors",
          watched_reported);
    watched_end();
}

/* Descriptors that nobody has ever watched: the table need not reach up to them. */
static void beyond_the_table(void)
{
    struct waiter waiter = {.del_fd = -1};
    watched_begin();
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, on_cancel, &waiter);
    for (int fd = pair.fd + 1; fd < 1000; fd = fd < 100 ? fd + 1 : 2 * fd) {
        check_case();
        if (events_interest(watched_events, fd) == 0)
            CHECK(!cancel(fd, EVENT_WRITE), BEYOND,
                  "events_cancel() returned true, but nothing was watched");
    }
    heard_expect_calls(&waiter.heard, 0, pair.fd, EVENT_READ, BEYOND);
    watched_end();
}

/* The callback waits for the next event of its descriptor at once. */
static void add_in_the_callback(void)
{
    struct heard next = {0};
    struct waiter waiter = {.del_fd = -1, .next = &next};
    watched_begin();
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, on_cancel, &waiter);
    CHECK(cancel(pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    expect_cancelled(&waiter, pair.fd, EVENT_READ, ONCE);
    watched_expect_interest(pair.fd, EVENT_READ, ONCE);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&next, 1, pair.fd, EVENT_READ, ONCE);
    watched_end();
}

static struct waiter **to_free;

static void on_free(struct events *e, int fd, unsigned what, void *context)
{
    CHECK(*to_free == context, ONCE, "the callback was called again, after its context was freed");
    *to_free = NULL;
    free(context);
}

/* The context is gone when the callback is over. */
static void free_in_the_callback(void)
{
    watched_begin();
    struct waiter *waiter = check_memory(sizeof *waiter);
    to_free = &waiter;
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, on_free, waiter);
    CHECK(cancel(pair.fd, EVENT_READ), ONCE, "events_cancel() returned false");
    CHECK(waiter == NULL, ONCE, "events_cancel() returned, but the callback was not called");
    watched_expect_interest(pair.fd, 0, ONCE);
    watched_end();
}

/* Two that are ready in one iteration: the one that is called first cancels the other. */
struct rival {
    struct heard heard;
    int other;
};

static void on_rival(struct events *e, int fd, unsigned what, void *context)
{
    struct rival *rival = context;
    heard_note(&rival->heard, fd, what);
    if (!(what & EVENT_CANCELLED))
        cancel(rival->other, EVENT_READ);
}

static void in_the_iteration(void)
{
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    struct rival one = {.other = b.fd}, other = {.other = a.fd};
    pair_make_readable(a);
    pair_make_readable(b);
    watched_add(a.fd, EVENT_READ, on_rival, &one);
    watched_add(b.fd, EVENT_READ, on_rival, &other);
    watched_turn();
    CHECK(one.heard.calls == 1 && other.heard.calls == 1, ONCE,
          "one callback cancelled the other's watch; they were called %d times and %d times",
          one.heard.calls, other.heard.calls);
    unsigned cancelled = (one.heard.what ^ other.heard.what) & EVENT_CANCELLED;
    CHECK(cancelled != 0, ONCE, "exactly one of the two callbacks should get EVENT_CANCELLED");
    watched_end();
}

/* Of all events of a descriptor */

static void all(void)
{
    struct waiter reader = {.del_fd = -1}, writer = {.del_fd = -1}, other = {.del_fd = -1};
    watched_begin();
    struct pair pair = pair_new(3), neighbour = pair_new(3);
    watched_add(neighbour.fd, EVENT_READ, on_cancel, &other);
    CHECK(!cancel_all(pair.fd), BOTH, "events_cancel_all() returned true, but nothing was watched");
    for (unsigned events = 1; events <= (EVENT_READ | EVENT_WRITE); events++) {
        check_case();
        if (events & EVENT_READ)
            watched_add(pair.fd, EVENT_READ, on_cancel, &reader);
        if (events & EVENT_WRITE)
            watched_add(pair.fd, EVENT_WRITE, on_cancel, &writer);
        CHECK(cancel_all(pair.fd), BOTH, "events_cancel_all() returned false");
        /* If this fails with the watch for reading alone, events_cancel() is to blame. */
        if (events & EVENT_READ)
            expect_cancelled(&reader, pair.fd, EVENT_READ, events == EVENT_READ ? ONCE : BOTH);
        if (events & EVENT_WRITE)
            expect_cancelled(&writer, pair.fd, EVENT_WRITE, BOTH);
        watched_expect_interest(pair.fd, 0, BOTH);
        CHECK(!cancel_all(pair.fd), BOTH, "events_cancel_all() returned true a second time");
    }
    heard_expect_calls(&other.heard, 0, neighbour.fd, EVENT_READ, BOTH);
    watched_expect_interest(neighbour.fd, EVENT_READ, BOTH);
    watched_end();
}

/* Whichever of the two is called first takes the other's watch away. */
static void all_but_one(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct waiter reader = {.del_fd = pair.fd, .del_event = EVENT_WRITE};
    struct waiter writer = {.del_fd = pair.fd, .del_event = EVENT_READ};
    watched_add(pair.fd, EVENT_READ, on_cancel, &reader);
    watched_add(pair.fd, EVENT_WRITE, on_cancel, &writer);
    CHECK(cancel_all(pair.fd), BOTH, "events_cancel_all() returned false");
    int calls = reader.heard.calls + writer.heard.calls;
    CHECK(calls == 1, BOTH, "the first callback deleted the second watch, but there were %d calls",
          calls);
    watched_expect_interest(pair.fd, 0, BOTH);
    watched_end();
}

/* Watches that are left at the end. Three are cancelled before: if that fails, events_free() is not
 * to blame. */
static void at_the_end(void)
{
    enum { COUNT = 5 };
    struct waiter readers[COUNT], writers[COUNT];
    struct pair pairs[COUNT];
    watched_begin();
    for (int i = 0; i < COUNT; i++) {
        pairs[i] = pair_new(3 + 40 * i);
        readers[i] = writers[i] = (struct waiter){.del_fd = -1};
        watched_add(pairs[i].fd, EVENT_READ, on_cancel, &readers[i]);
        watched_add(pairs[i].fd, EVENT_WRITE, on_cancel, &writers[i]);
    }
    CHECK(cancel(pairs[0].fd, EVENT_READ), ONCE, "events_cancel() returned false");
    expect_cancelled(&readers[0], pairs[0].fd, EVENT_READ, ONCE);
    CHECK(cancel_all(pairs[1].fd), BOTH, "events_cancel_all() returned false");
    expect_cancelled(&readers[1], pairs[1].fd, EVENT_READ, BOTH);
    expect_cancelled(&writers[1], pairs[1].fd, EVENT_WRITE, BOTH);
    watched_end();
    heard_expect_calls(&readers[0].heard, 0, pairs[0].fd, EVENT_READ, END);
    expect_cancelled(&writers[0], pairs[0].fd, EVENT_WRITE, END);
    heard_expect_calls(&readers[1].heard, 0, pairs[1].fd, EVENT_READ, END);
    heard_expect_calls(&writers[1].heard, 0, pairs[1].fd, EVENT_WRITE, END);
    for (int i = 2; i < COUNT; i++) {
        expect_cancelled(&readers[i], pairs[i].fd, EVENT_READ, END);
        expect_cancelled(&writers[i], pairs[i].fd, EVENT_WRITE, END);
    }
}

const struct check checks[] = {
    {"once", once},
    {"beyond_the_table", beyond_the_table},
    {"add_in_the_callback", add_in_the_callback},
    {"free_in_the_callback", free_in_the_callback},
    {"in_the_iteration", in_the_iteration},
    {"all", all},
    {"all_but_one", all_but_one},
    {"at_the_end", at_the_end},
    {0},
};

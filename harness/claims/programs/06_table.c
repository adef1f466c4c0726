/* The table of the event manager: it grows, has one watch a descriptor and event, and gives it up.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "watched_events.h"

#define LOST    "watch-lost"
#define TWICE   "added-twice"
#define DELETED "called-after-del"

/* LOW: the table has some KiB already. HIGH: and has to move. */
enum { MOST = 16, COUNT = 300, LOW = 100, HIGH = 250 };

/* Growing */

/* Each of the descriptors is made readable, and its callback is called, and no other. */
static void each_is_called(const struct pair *pairs, struct heard *heard, int count)
{
    for (int i = 0; i < count; i++) {
        pair_make_readable(pairs[i]);
        watched_turn();
        for (int j = 0; j < count; j++)
            heard_expect_calls(&heard[j], i == j, pairs[j].fd, EVENT_READ, LOST);
    }
}

/* Nobody watches a descriptor between those that are watched. */
static void expect_nobody(const struct pair *pairs, int count)
{
    for (int fd = pairs[0].peer + 1; fd < pairs[count - 1].fd; fd++) {
        unsigned due = 0;
        for (int i = 0; i < count; i++)
            if (pairs[i].fd == fd)
                due = EVENT_READ;
        watched_expect_interest(fd, due, LOST);
    }
}

static void grows(void)
{
    static const int numbers[] = {20,  63,  64,  65,  70,   127,  128, 200,
                                  400, 511, 512, 900, 1010, 1500, 3000};
    struct pair pairs[MOST];
    struct heard heard[MOST] = {0};
    watched_begin();
    long limit = check_number("limit");
    int count = 0;
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers) && numbers[i] < limit; i++) {
        pairs[count] = pair_new(numbers[i]);
        watched_add(pairs[count].fd, EVENT_READ, heard_on_event, &heard[count]);
        count++;
        each_is_called(pairs, heard, count);
        expect_nobody(pairs, count);
    }
    watched_end();
}

/* A callback that watches many more descriptors. */
struct grower {
    struct heard heard;
    struct pair *pairs;
    struct heard *others;
    int count;
};

static void on_grow(struct events *e, int fd, unsigned what, void *context)
{
    struct grower *grower = context;
    if (what & EVENT_CANCELLED)
        return;
    heard_note(&grower->heard, fd, what);
    pair_read_all(fd);
    check_step("watches %d more descriptors in the callback", grower->count);
    for (int i = 0; i < grower->count; i++)
        if (!events_add(e, grower->pairs[i].fd, EVENT_READ, heard_on_event, &grower->others[i]))
            check_fail(LOST, "events_add() returned false: %s", strerror(errno));
}

/* The table grows between the two callbacks of one descriptor. */
static void grows_in_a_callback(void)
{
    static struct pair pairs[COUNT];
    static struct heard others[COUNT];
    struct grower grower = {.pairs = pairs, .others = others, .count = COUNT};
    struct heard writer = {0};
    watched_begin();
    struct pair low = pair_new(LOW);
    for (int i = 0; i < COUNT; i++)
        pairs[i] = pair_new(HIGH);
    watched_add(low.fd, EVENT_READ, on_grow, &grower);
    watched_add(low.fd, EVENT_WRITE, heard_on_event, &writer);
    pair_make_readable(low);
    watched_turn();
    heard_expect_calls(&grower.heard, 1, low.fd, EVENT_READ, LOST);
    heard_expect_calls(&writer, 1, low.fd, EVENT_WRITE, LOST);
    check_step("makes the %d others readable", COUNT);
    for (int i = 0; i < COUNT; i++)
        if (write(pairs[i].peer, "x", 1) != 1)
            check_impossible("write: %s", strerror(errno));
    watched_turns();
    for (int i = 0; i < COUNT; i++)
        heard_expect_calls(&others[i], 1, pairs[i].fd, EVENT_READ, LOST);
    watched_end();
}

/* One watch a descriptor and event */

static void add_twice(void)
{
    struct heard first = {0}, second = {0}, writer = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &first);
    errno = 0;
    CHECK(!watched_try_add(pair.fd, EVENT_READ, heard_on_event, &second), TWICE,
          "events_add() returned true, but EVENT_READ was watched already");
    CHECK(errno == EEXIST, TWICE, "errno is %s instead of EEXIST", strerror(errno));
    watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    errno = 0;
    CHECK(!watched_try_add(pair.fd, EVENT_WRITE, heard_on_event, &second) && errno == EEXIST, TWICE,
          "EVENT_WRITE was watched already, but events_add() did not fail with EEXIST");
    watched_expect_interest(pair.fd, EVENT_READ | EVENT_WRITE, TWICE);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&second, 0, pair.fd, EVENT_READ, TWICE);
    heard_expect_calls(&first, 1, pair.fd, EVENT_READ, TWICE);
    watched_del(pair.fd, EVENT_READ);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &second);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&first, 0, pair.fd, EVENT_READ, TWICE);
    heard_expect_calls(&second, 1, pair.fd, EVENT_READ, TWICE);
    watched_end();
}

/* A backend that says no. */

static bool refusing;

static bool refuse_set(void *state, int fd, unsigned before, unsigned after)
{
    if (!refusing || after == 0)
        return watched_backend->set(state, fd, before, after);
    errno = ENOSPC;
    return false;
}

static void add_refused(void)
{
    struct heard reader = {0}, writer = {0};
    watched_backend = watched_find(check_option("backend"));
    struct backend refuser = *watched_backend;
    refuser.set = refuse_set;
    watched_events = events_new(&refuser);
    struct pair pair = pair_new(3);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
    check_step("lets the backend fail with ENOSPC");
    refusing = true;
    errno = 0;
    CHECK(!watched_try_add(pair.fd, EVENT_WRITE, heard_on_event, &writer), TWICE,
          "events_add() returned true, but the backend failed");
    CHECK(errno == ENOSPC, TWICE, "errno is %s instead of the backend's ENOSPC", strerror(errno));
    watched_expect_interest(pair.fd, EVENT_READ, TWICE);
    refusing = false;
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&writer, 0, pair.fd, EVENT_WRITE, TWICE);
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, TWICE);
    watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    watched_turn();
    heard_expect_calls(&writer, 1, pair.fd, EVENT_WRITE, TWICE);
    watched_end();
}

/* Taking away */

static void del_and_again(void)
{
    struct heard heard = {0}, writer = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    CHECK(!watched_del(pair.fd, EVENT_READ), DELETED,
          "events_del() returned true, but nothing was watched");
    watched_add(pair.fd, EVENT_READ, heard_on_event, &heard);
    watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    CHECK(watched_del(pair.fd, EVENT_WRITE), DELETED, "events_del() returned false");
    watched_expect_interest(pair.fd, EVENT_READ, DELETED);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&writer, 0, pair.fd, EVENT_WRITE, DELETED);
    heard_expect_calls(&heard, 1, pair.fd, EVENT_READ, DELETED);
    pair_make_readable(pair);
    CHECK(watched_del(pair.fd, EVENT_READ), DELETED, "events_del() returned false");
    CHECK(!watched_del(pair.fd, EVENT_READ), DELETED, "events_del() returned true a second time");
    watched_expect_interest(pair.fd, 0, DELETED);
    watched_turn();
    heard_expect_calls(&heard, 0, pair.fd, EVENT_READ, DELETED);
    CHECK(watched_reported == 0, DELETED,
          "nothing is watched, but the backend reports %d descriptors", watched_reported);
    watched_end();
}

/* A callback that takes another watch away, of which it is told by `other`. */
struct rival {
    struct heard heard;
    int other;
    unsigned event;
};

static void on_rival(struct events *e, int fd, unsigned what, void *context)
{
    struct rival *rival = context;
    heard_note(&rival->heard, fd, what);
    watched_del(rival->other, rival->event);
}

static void expect_one(const struct rival *one, const struct rival *other)
{
    int calls = one->heard.calls + other->heard.calls;
    CHECK(calls == 1, DELETED,
          "each callback deletes the other's watch, but there were %d calls instead of 1", calls);
}

/* The one that is called first deletes the other, which is ready too. */
static void del_in_the_iteration(void)
{
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    struct rival one = {.other = b.fd, .event = EVENT_READ};
    struct rival other = {.other = a.fd, .event = EVENT_READ};
    pair_make_readable(a);
    pair_make_readable(b);
    watched_add(a.fd, EVENT_READ, on_rival, &one);
    watched_add(b.fd, EVENT_READ, on_rival, &other);
    watched_turn();
    expect_one(&one, &other);
    struct pair c = pair_new(3);
    struct rival reader = {.other = c.fd, .event = EVENT_WRITE};
    struct rival writer = {.other = c.fd, .event = EVENT_READ};
    check_case();
    pair_make_readable(c);
    watched_add(c.fd, EVENT_READ, on_rival, &reader);
    watched_add(c.fd, EVENT_WRITE, on_rival, &writer);
    watched_turn();
    expect_one(&reader, &writer);
    watched_end();
}

const struct check checks[] = {
    {"grows", grows},
    {"grows_in_a_callback", grows_in_a_callback},
    {"add_twice", add_twice},
    {"add_refused", add_refused},
    {"del_and_again", del_and_again},
    {"del_in_the_iteration", del_in_the_iteration},
    {0},
};

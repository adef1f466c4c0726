/* The table of the event manager: it grows, has one watch a descriptor and event, and gives it up.
 * links: events.c backend.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include "watching.h"

#define LOST    "watch-lost"
#define TWICE   "added-twice"
#define DELETED "called-after-del"

/* LOW: the table has some KiB already. HIGH: and has to move. */
enum { MOST = 16, CROWD = 300, LOW = 100, HIGH = 250 };

/* Growing */

/* Each of the descriptors is made readable, and its callback is called, and no other. */
static void each_is_called(struct events *e, const struct pair *pairs, struct heard *heard,
                           int count)
{
    for (int i = 0; i < count; i++) {
        make_readable(pairs[i]);
        turn(e);
        for (int j = 0; j < count; j++)
            expect_calls(&heard[j], i == j, pairs[j].fd, EVENT_READ, LOST);
    }
}

/* Nobody watches a descriptor between those that are watched. */
static void expect_nobody(struct events *e, const struct pair *pairs, int count)
{
    for (int fd = pairs[0].peer + 1; fd < pairs[count - 1].fd; fd++) {
        unsigned due = 0;
        for (int i = 0; i < count; i++)
            if (pairs[i].fd == fd)
                due = EVENT_READ;
        expect_interest(e, fd, due, LOST);
    }
}

static void grows(void)
{
    static const int numbers[] = {20,  63,  64,  65,  70,   127,  128, 200,
                                  400, 511, 512, 900, 1010, 1500, 3000};
    struct pair pairs[MOST];
    struct heard heard[MOST] = {0};
    long limit = check_number("limit");
    struct events *e = new_events();
    int count = 0;
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers) && numbers[i] < limit; i++) {
        pairs[count] = new_pair(numbers[i]);
        add(e, pairs[count].fd, EVENT_READ, on_event, &heard[count]);
        count++;
        each_is_called(e, pairs, heard, count);
        expect_nobody(e, pairs, count);
    }
    free_events(e);
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
    hear(&grower->heard, fd, what);
    read_all(fd);
    check_step("watches %d more descriptors in the callback", grower->count);
    for (int i = 0; i < grower->count; i++)
        if (!events_add(e, grower->pairs[i].fd, EVENT_READ, on_event, &grower->others[i]))
            check_fail(LOST, "events_add() returned false: %s", strerror(errno));
}

/* The table grows between the two callbacks of one descriptor. */
static void grows_in_a_callback(void)
{
    static struct pair pairs[CROWD];
    static struct heard others[CROWD];
    struct grower grower = {.pairs = pairs, .others = others, .count = CROWD};
    struct heard writer = {0};
    struct events *e = new_events();
    struct pair low = new_pair(LOW);
    for (int i = 0; i < CROWD; i++)
        pairs[i] = new_pair(HIGH);
    add(e, low.fd, EVENT_READ, on_grow, &grower);
    add(e, low.fd, EVENT_WRITE, on_event, &writer);
    make_readable(low);
    turn(e);
    expect_calls(&grower.heard, 1, low.fd, EVENT_READ, LOST);
    expect_calls(&writer, 1, low.fd, EVENT_WRITE, LOST);
    check_step("makes the %d others readable", CROWD);
    for (int i = 0; i < CROWD; i++)
        if (write(pairs[i].peer, "x", 1) != 1)
            check_impossible("write: %s", strerror(errno));
    turns(e);
    for (int i = 0; i < CROWD; i++)
        expect_calls(&others[i], 1, pairs[i].fd, EVENT_READ, LOST);
    free_events(e);
}

/* One watch a descriptor and event */

static void add_twice(void)
{
    struct heard first = {0}, second = {0}, writer = {0};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    add(e, pair.fd, EVENT_READ, on_event, &first);
    errno = 0;
    CHECK(!try_add(e, pair.fd, EVENT_READ, on_event, &second), TWICE,
          "events_add() returned true, and EVENT_READ was watched already");
    CHECK(errno == EEXIST, TWICE, "errno is %s instead of EEXIST", strerror(errno));
    add(e, pair.fd, EVENT_WRITE, on_event, &writer);
    errno = 0;
    CHECK(!try_add(e, pair.fd, EVENT_WRITE, on_event, &second) && errno == EEXIST, TWICE,
          "EVENT_WRITE was watched already, and events_add() did not fail with EEXIST");
    expect_interest(e, pair.fd, EVENT_READ | EVENT_WRITE, TWICE);
    make_readable(pair);
    turn(e);
    expect_calls(&second, 0, pair.fd, EVENT_READ, TWICE);
    expect_calls(&first, 1, pair.fd, EVENT_READ, TWICE);
    expect_calls(&writer, 1, pair.fd, EVENT_WRITE, TWICE);
    del(e, pair.fd, EVENT_READ);
    add(e, pair.fd, EVENT_READ, on_event, &second);
    make_readable(pair);
    turn(e);
    expect_calls(&first, 0, pair.fd, EVENT_READ, TWICE);
    expect_calls(&second, 1, pair.fd, EVENT_READ, TWICE);
    free_events(e);
}

/* A backend that says no. */

static bool refusing;

static bool refuse_set(void *state, int fd, unsigned before, unsigned after)
{
    if (!refusing || after == 0)
        return real->set(state, fd, before, after);
    errno = ENOSPC;
    return false;
}

static void add_refused(void)
{
    struct heard reader = {0}, writer = {0};
    real = backend_find(check_option("backend"));
    struct backend refuser = *real;
    refuser.set = refuse_set;
    struct events *e = events_new(&refuser);
    struct pair pair = new_pair(3);
    add(e, pair.fd, EVENT_READ, on_event, &reader);
    check_step("lets the backend refuse what it is told, with ENOSPC");
    refusing = true;
    errno = 0;
    CHECK(!try_add(e, pair.fd, EVENT_WRITE, on_event, &writer), TWICE,
          "events_add() returned true, and the backend has refused");
    CHECK(errno == ENOSPC, TWICE, "errno is %s instead of the backend's ENOSPC", strerror(errno));
    expect_interest(e, pair.fd, EVENT_READ, TWICE);
    refusing = false;
    make_readable(pair);
    turn(e);
    expect_calls(&writer, 0, pair.fd, EVENT_WRITE, TWICE);
    expect_calls(&reader, 1, pair.fd, EVENT_READ, TWICE);
    add(e, pair.fd, EVENT_WRITE, on_event, &writer);
    turn(e);
    expect_calls(&writer, 1, pair.fd, EVENT_WRITE, TWICE);
    free_events(e);
}

/* Taking away */

static void del_and_again(void)
{
    struct heard heard = {0}, writer = {0};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    CHECK(!del(e, pair.fd, EVENT_READ), DELETED, "events_del() returned true: nobody watched");
    add(e, pair.fd, EVENT_READ, on_event, &heard);
    add(e, pair.fd, EVENT_WRITE, on_event, &writer);
    CHECK(del(e, pair.fd, EVENT_WRITE), DELETED, "events_del() returned false");
    expect_interest(e, pair.fd, EVENT_READ, DELETED);
    make_readable(pair);
    turn(e);
    expect_calls(&writer, 0, pair.fd, EVENT_WRITE, DELETED);
    expect_calls(&heard, 1, pair.fd, EVENT_READ, DELETED);
    make_readable(pair);
    CHECK(del(e, pair.fd, EVENT_READ), DELETED, "events_del() returned false");
    CHECK(!del(e, pair.fd, EVENT_READ), DELETED, "events_del() returned true once more");
    expect_interest(e, pair.fd, 0, DELETED);
    turn(e);
    expect_calls(&heard, 0, pair.fd, EVENT_READ, DELETED);
    CHECK(reported == 0, DELETED, "nothing is watched, and the backend reports %d descriptors",
          reported);
    free_events(e);
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
    hear(&rival->heard, fd, what);
    del(e, rival->other, rival->event);
}

static void expect_one(const struct rival *one, const struct rival *other)
{
    int calls = one->heard.calls + other->heard.calls;
    CHECK(calls == 1, DELETED,
          "each callback takes the other's watch away, and there were %d calls instead of 1",
          calls);
}

/* Whoever is called first takes the other away, which is ready too. */
static void del_in_the_turn(void)
{
    struct events *e = new_events();
    struct pair a = new_pair(3), b = new_pair(3);
    struct rival one = {.other = b.fd, .event = EVENT_READ};
    struct rival other = {.other = a.fd, .event = EVENT_READ};
    make_readable(a);
    make_readable(b);
    add(e, a.fd, EVENT_READ, on_rival, &one);
    add(e, b.fd, EVENT_READ, on_rival, &other);
    turn(e);
    expect_one(&one, &other);
    struct pair c = new_pair(3);
    struct rival reader = {.other = c.fd, .event = EVENT_WRITE};
    struct rival writer = {.other = c.fd, .event = EVENT_READ};
    check_case();
    make_readable(c);
    add(e, c.fd, EVENT_READ, on_rival, &reader);
    add(e, c.fd, EVENT_WRITE, on_rival, &writer);
    turn(e);
    expect_one(&reader, &writer);
    free_events(e);
}

const struct check checks[] = {
    {"grows", grows},
    {"grows_in_a_callback", grows_in_a_callback},
    {"add_twice", add_twice},
    {"add_refused", add_refused},
    {"del_and_again", del_and_again},
    {"del_in_the_turn", del_in_the_turn},
    {0},
};

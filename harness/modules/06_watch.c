/* Watches: added, changed, taken away, refused; and what they are part of may be freed.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connection.h"
#include "watched_events.h"

#define LOST    "watch-lost"
#define REFUSED "watch-refused"
#define UNTOLD  "refusal-untold"
#define DELETED "called-after-del"
#define TWICE   "deleted-twice"
#define FREED   "freed-in-a-callback"
#define DEAF    "deaf-to-errors"
#define SAME    "told-the-same"

enum { MOST = 16, RIVALS = 20, LATER = 40, TURN_MS = 100, RESET_TURNS = 30 };

/* Many descriptors */

/* Each of them is made readable, and its watch is called, and no other. */
static void each_is_called(const struct pair *pairs, struct heard *heard, int count)
{
    for (int i = 0; i < count; i++) {
        pair_make_readable(pairs[i]);
        watched_turn();
        for (int j = 0; j < count; j++)
            heard_expect_calls(&heard[j], i == j, EVENT_READ, LOST);
    }
}

static void many(void)
{
    static const int numbers[] = {20,  63,  64,  65,  70,   127,  128, 200,
                                  400, 511, 512, 900, 1010, 1500, 3000};
    struct pair pairs[MOST];
    struct heard heard[MOST];
    watched_begin();
    long limit = check_number("limit");
    int count = 0;
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers) && numbers[i] < limit; i++) {
        pairs[count] = pair_new(numbers[i]);
        heard[count] = heard_new(pairs[count].fd);
        watched_add(&heard[count].watch, EVENT_READ);
        count++;
        each_is_called(pairs, heard, count);
    }
    watched_end();
}

/* Changes of the interest */

static void changes(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 0, 0, LOST);
    watched_set(&heard.watch, EVENT_WRITE);
    watched_expect_interest(pair.fd, EVENT_WRITE, LOST);
    pair_make_readable(pair);
    watched_turn();
    CHECK(!(heard.what & EVENT_READ), LOST, "only EVENT_WRITE was watched, but the callback got %s",
          watched_names_of(heard.what));
    heard_expect_calls(&heard, 1, EVENT_WRITE, LOST);
    watched_set(&heard.watch, EVENT_READ | EVENT_WRITE);
    watched_expect_interest(pair.fd, EVENT_READ | EVENT_WRITE, LOST);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, LOST);
    watched_set(&heard.watch, 0);
    pair_make_readable(pair);
    watched_turns();
    heard_expect_calls(&heard, 0, 0, LOST);
    watched_set(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, LOST);
    int sets = watched_sets;
    watched_set(&heard.watch, EVENT_READ);
    CHECK(watched_sets == sets, SAME,
          "the interest of descriptor %d has not changed, but the backend was told of it", pair.fd);
    watched_end();
}

/* A backend that says no */

static void add_refused(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    check_step("lets the backend fail with ENOSPC");
    watched_refuses = true;
    errno = 0;
    CHECK(!watched_try_add(&heard.watch, EVENT_READ), REFUSED,
          "events_add() returned true, but the backend failed");
    CHECK(errno == ENOSPC, REFUSED, "errno is %s instead of the backend's ENOSPC", strerror(errno));
    watched_refuses = false;
    CHECK(!heard.watch.added, REFUSED, "the backend failed, but `added` is true");
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&heard, 0, 0, REFUSED);
    watched_add(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, REFUSED);
    watched_end();
}

static void set_refused(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    check_step("lets the backend fail with ENOSPC");
    watched_refuses = true;
    errno = 0;
    CHECK(!watched_try_set(&heard.watch, EVENT_WRITE), REFUSED,
          "events_set() returned true, but the backend failed");
    CHECK(errno == ENOSPC, REFUSED, "errno is %s instead of the backend's ENOSPC", strerror(errno));
    watched_refuses = false;
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, REFUSED);
    watched_set(&heard.watch, EVENT_WRITE);
    watched_expect_interest(pair.fd, EVENT_WRITE, REFUSED);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_WRITE, REFUSED);
    watched_end();
}

static void refused(void)
{
    add_refused();
    check_case();
    set_refused();
}

/* poll() watches a file, and epoll refuses it. */
static void refused_by_the_kernel(void)
{
    watched_begin();
    int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0)
        check_impossible("open: %s", strerror(errno));
    struct heard heard = heard_new(fd);
    errno = 0;
    CHECK(!watched_try_add(&heard.watch, EVENT_READ), UNTOLD,
          "events_add() returned true for a file, which epoll cannot watch");
    CHECK(errno == EPERM, UNTOLD, "errno is %s instead of EPERM", strerror(errno));
    close(fd);
    watched_end();
}

/* Interest in nothing */

/* A reset is reported even then. One backend looks only now and then. */
static void hears_a_reset(unsigned before)
{
    check_case();
    watched_begin();
    struct pair pair = connection_new();
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, before);
    watched_turns();
    heard.calls = 0;
    watched_set(&heard.watch, 0);
    connection_reset(pair);
    check_step("calls events_turn() with a timeout of %d, again and again", TURN_MS);
    for (int i = 0; i < RESET_TURNS && heard.calls == 0; i++) {
        events_turn(watched_events, TURN_MS);
        check_value("turns", i); /* it goes on */
    }
    CHECK(
        heard.calls > 0, DEAF,
        "descriptor %d is watched for nothing, and its connection was reset, but its callback was "
        "not called",
        pair.fd);
    CHECK(heard.what & EVENT_ERROR, DEAF,
          "the connection of descriptor %d was reset, but its callback got %s without EVENT_ERROR",
          pair.fd, watched_names_of(heard.what));
    watched_del(&heard.watch);
    close(pair.fd);
    watched_end();
}

static void nothing(void)
{
    hears_a_reset(0);
    hears_a_reset(EVENT_READ);
    hears_a_reset(EVENT_WRITE);
}

/* Taking away */

static void del_and_again(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_del(&heard.watch);
    watched_add(&heard.watch, EVENT_READ | EVENT_WRITE);
    pair_make_readable(pair);
    watched_del(&heard.watch);
    watched_del(&heard.watch);
    watched_turns();
    heard_expect_calls(&heard, 0, 0, DELETED);
    CHECK(watched_ready == 0, DELETED,
          "no watch is left, but the backend still watches %d descriptors that are ready",
          watched_ready);
    watched_add(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, DELETED);
    watched_end();
}

/* A watch is taken away twice, and in between its number belongs to another. */
static void del_twice(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard before = heard_new(pair.fd), after = heard_new(pair.fd);
    watched_add(&before.watch, EVENT_READ);
    watched_del(&before.watch);
    watched_add(&after.watch, EVENT_READ);
    watched_del(&before.watch);
    pair_make_readable(pair);
    watched_turns();
    heard_expect_calls(&after, 1, EVENT_READ, TWICE);
    watched_end();
}

/* Watches that are ready in one iteration. The one that is called first takes all of them away, its
 * own too, and frees them. */
static struct heard *rivals[RIVALS];
static int rival_calls;

static void on_rival(struct events *e, struct watch *watch, unsigned what)
{
    rival_calls++;
    for (int i = 0; i < RIVALS; i++) {
        if (rivals[i] == NULL)
            continue;
        events_del(e, &rivals[i]->watch);
        CHECK(rivals[i]->watch.queue == NULL, DELETED,
              "events_del() returned, but the watch of descriptor %d still waits to be called",
              rivals[i]->watch.fd);
        free(rivals[i]);
        rivals[i] = NULL;
    }
}

static void new_rivals(void)
{
    rival_calls = 0;
    for (int i = 0; i < RIVALS; i++) {
        struct pair pair = pair_new(3);
        rivals[i] = check_memory(sizeof *rivals[i]);
        *rivals[i] = heard_new(pair.fd);
        rivals[i]->watch.call = on_rival;
        watched_add(&rivals[i]->watch, EVENT_READ);
        pair_make_readable(pair);
    }
    check_case();
}

static void expect_one(void)
{
    check_step("calls events_turn(): %d watches are ready, and the first one that is called takes "
               "all of them away and frees them",
               RIVALS);
    events_turn(watched_events, 0);
    events_turn(watched_events, 0);
    CHECK(rival_calls == 1, FREED, "callbacks were called %d times instead of once", rival_calls);
}

/* Takes another watch away, which is ready too, and adds it again; it is not ready any more. */
struct replacer {
    struct heard heard;
    struct watch *other;
};

static void on_replace(struct events *e, struct watch *watch, unsigned what)
{
    struct replacer *replacer = (struct replacer *)heard_note(watch, what);
    pair_read_all(watch->fd);
    if (replacer->heard.calls > 1 || what == 0)
        return;
    pair_read_all(replacer->other->fd);
    watched_del(replacer->other);
    watched_add(replacer->other, EVENT_READ);
}

static void added_again(void)
{
    watched_begin();
    struct pair a = pair_new(3), b = pair_new(3);
    struct replacer one = {.heard = heard_new(a.fd)}, other = {.heard = heard_new(b.fd)};
    one.heard.watch.call = other.heard.watch.call = on_replace;
    one.other = &other.heard.watch;
    other.other = &one.heard.watch;
    pair_make_readable(a);
    pair_make_readable(b);
    watched_add(one.other, EVENT_READ);
    watched_add(other.other, EVENT_READ);
    watched_turn();
    CHECK(one.heard.calls + other.heard.calls == 1, DELETED,
          "two watches were ready, and the callback of one took the other away: one of them is to "
          "be called, once, but they were called %s and %s",
          check_times(one.heard.calls), check_times(other.heard.calls));
    struct heard *late = one.heard.calls == 0 ? &one.heard : &other.heard;
    watched_turn();
    heard_expect_calls(late, 0, 0, DELETED);
    watched_again(&late->watch);
    watched_turn();
    CHECK(
        late->calls == 0 || late->what == 0, DELETED,
        "descriptor %d was taken away and added again, and is not ready, but its callback got %s, "
        "which was reported before",
        late->watch.fd, watched_names_of(late->what));
    watched_end();
}

static void del_in_the_iteration(void)
{
    watched_begin();
    new_rivals();
    expect_one();
    new_rivals();
    for (int i = 0; i < RIVALS; i += 2)
        watched_again(&rivals[i]->watch);
    expect_one();
    watched_end();
}

/* Adding in a callback */

struct adder {
    struct heard heard;
    struct heard *later;
    int count;
};

static void on_add(struct events *e, struct watch *watch, unsigned what)
{
    struct adder *adder = (struct adder *)heard_note(watch, what);
    pair_read_all(watch->fd);
    check_step("adds %d watches in the callback", adder->count);
    for (int i = 0; i < adder->count; i++)
        if (!events_add(e, &adder->later[i].watch, EVENT_READ))
            check_fail(LOST, "events_add() returned false: %s", check_reason());
    adder->count = 0;
}

static void add_in_a_callback(void)
{
    static struct heard later[LATER];
    watched_begin();
    struct pair pair = pair_new(3), pairs[LATER];
    struct adder adder = {.heard = heard_new(pair.fd), .later = later, .count = LATER};
    adder.heard.watch.call = on_add;
    for (int i = 0; i < LATER; i++) {
        pairs[i] = pair_new(3);
        later[i] = heard_new(pairs[i].fd);
        if (i % 2 == 0)
            pair_make_readable(pairs[i]);
    }
    check_case();
    watched_add(&adder.heard.watch, EVENT_READ);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&adder.heard, 1, EVENT_READ, LOST);
    watched_turns();
    for (int i = 0; i < LATER; i++)
        heard_expect_calls(&later[i], i % 2 == 0, EVENT_READ, LOST);
    each_is_called(pairs, later, LATER);
    watched_end();
}

const struct check checks[] = {
    {"many", many},
    {"changes", changes},
    {"refused", refused},
    {"refused_by_the_kernel", refused_by_the_kernel},
    {"nothing", nothing},
    {"del_and_again", del_and_again},
    {"del_twice", del_twice},
    {"added_again", added_again},
    {"del_in_the_iteration", del_in_the_iteration},
    {"add_in_a_callback", add_in_a_callback},
    {0},
};

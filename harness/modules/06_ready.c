/* What a backend reports, and which calls come of it: errors, hang-ups, what has come already, and
 * one call for all of it.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "watched_events.h"

#define ONCE  "one-call-an-iteration"
#define BOTH  "errors-wake-both"
#define EDGE  "told-once"
#define ENDED "hangup-untold"
#define OTHER "other-direction"
#define SLEEP "does-not-wait"

enum { COUNT = 300, FEW = 12, SLEEP_MS = 100 };

/* The last call told nothing of `event`: only the other direction is ready. */
static void expect_untold(const struct heard *heard, unsigned event, const char *hint)
{
    const char *ready =
        event == EVENT_READ ? "writable and not readable" : "readable and not writable";
    CHECK(!(heard->what & event), hint, "descriptor %d is %s, but its callback got %s",
          heard->watch.fd, ready, watched_names_of(heard->what));
}

/* A wait that nothing ends */

static void sleeps(void)
{
    struct timespec from, to;
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    watched_turns();
    check_step("calls events_turn() with a timeout of %d ms; nothing is ready", SLEEP_MS);
    clock_gettime(CLOCK_MONOTONIC, &from);
    events_turn(watched_events, SLEEP_MS);
    clock_gettime(CLOCK_MONOTONIC, &to);
    long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    CHECK(ms >= SLEEP_MS / 2, SLEEP, "it returned after %ld ms", ms);
    heard_expect_calls(&heard, 0, 0, SLEEP);
    watched_end();
}

/* One call an iteration */

/* Of one descriptor both events are there. Bits of earlier calls do not stay. */
static void both_at_once(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    pair_make_readable(pair);
    watched_add(&heard.watch, EVENT_READ | EVENT_WRITE);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ | EVENT_WRITE, ONCE);
    pair_fill(pair.fd);
    watched_turns();
    heard.calls = 0;
    pair_make_readable(pair);
    watched_turn();
    expect_untold(&heard, EVENT_WRITE, ONCE);
    heard_expect_calls(&heard, 1, EVENT_READ, ONCE);
    watched_end();
}

/* All that are ready are called in the same iteration. */
static void all_of_them(void)
{
    static struct heard heard[FEW];
    struct pair pairs[FEW];
    watched_begin();
    for (int i = 0; i < FEW; i++) {
        pairs[i] = pair_new(3);
        heard[i] = heard_new(pairs[i].fd);
        watched_add(&heard[i].watch, EVENT_READ);
    }
    for (int round = 1; round <= 3; round++) {
        check_case();
        for (int i = 0; i < FEW; i += round)
            pair_make_readable(pairs[i]);
        watched_turn();
        for (int i = 0; i < FEW; i++)
            heard_expect_calls(&heard[i], i % round == 0, EVENT_READ, ONCE);
        watched_turn();
        for (int i = 0; i < FEW; i++)
            heard_expect_calls(&heard[i], 0, 0, ONCE);
    }
    watched_end();
}

static void one_call(void)
{
    both_at_once();
    check_case();
    all_of_them();
}

/* Errors */

/* A watch that waits for something that will not come, when the connection is reset. */
static void reset_beside(unsigned interest)
{
    check_case();
    watched_begin();
    struct pair pair = connection_new();
    struct heard heard = heard_new(pair.fd);
    pair_fill(pair.fd);
    watched_add(&heard.watch, interest);
    watched_turns();
    heard.calls = 0;
    connection_reset(pair);
    watched_turn();
    heard_expect_calls(&heard, 1, interest, BOTH);
    watched_del(&heard.watch);
    close(pair.fd);
    watched_end();
}

static void resets(void)
{
    reset_beside(EVENT_READ);
    reset_beside(EVENT_WRITE);
    reset_beside(EVENT_READ | EVENT_WRITE);
}

/* A pipe whose other end is closed: an error for the writer, a hang-up for the reader. */
static void pipes(void)
{
    int in[2], out[2];
    watched_begin();
    if (pipe(in) != 0 || pipe(out) != 0)
        check_impossible("pipe: %s", strerror(errno));
    pair_set_nonblocking(in[0]);
    pair_set_nonblocking(out[1]);
    pair_fill(out[1]);
    struct heard reader = heard_new(in[0]), writer = heard_new(out[1]);
    watched_add(&reader.watch, EVENT_READ);
    watched_add(&writer.watch, EVENT_WRITE);
    watched_turns();
    heard_expect_calls(&writer, 0, 0, BOTH);
    check_step("closes the other end of the pipes, %d and %d", in[0], out[1]);
    close(in[1]);
    close(out[0]);
    watched_turn();
    heard_expect_calls(&reader, 1, EVENT_READ, BOTH);
    heard_expect_calls(&writer, 1, EVENT_WRITE, BOTH);
    watched_del(&reader.watch);
    watched_del(&writer.watch);
    close(in[0]);
    close(out[1]);
    watched_end();
}

/* The end of the input */

/* Bytes, and a FIN right after them: after this nothing more is reported. `told`: by a backend that
 * reports the FIN. */
static void half_close(void)
{
    watched_begin();
    bool told = check_number("told");
    for (int bytes = 0; bytes <= 1; bytes++) {
        struct pair pair = pair_new(3);
        struct heard heard = heard_new(pair.fd);
        watched_add(&heard.watch, EVENT_READ);
        watched_turn();
        heard_expect_calls(&heard, 0, 0, ENDED);
        if (bytes)
            pair_make_readable(pair);
        check_step("half-closes the peer of descriptor %d", pair.fd);
        shutdown(pair.peer, SHUT_WR);
        watched_turn();
        unsigned what = heard.what;
        heard_expect_calls(&heard, 1, EVENT_READ, ENDED);
        CHECK(!told || what & EVENT_HANGUP, ENDED,
              "the peer half-closed, but the callback got %s without EVENT_HANGUP",
              watched_names_of(what));
        CHECK(!(what & EVENT_ERROR), ENDED, "there is no error, but the callback got %s",
              watched_names_of(what));
        watched_del(&heard.watch);
    }
    watched_end();
}

/* A callback that takes nothing. */
static void on_look(struct events *e, struct watch *watch, unsigned what)
{
    heard_note(watch, what);
}

/* Input that came while it was not watched, or was not read, is reported when it is watched. */
static void came_before(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    heard.watch.call = on_look;
    pair_make_readable(pair);
    watched_add(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, EDGE);
    watched_del(&heard.watch);
    watched_turn();
    watched_add(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, EDGE);
    watched_set(&heard.watch, EVENT_WRITE);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_WRITE, EDGE);
    watched_set(&heard.watch, EVENT_READ | EVENT_WRITE);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, EDGE);
    watched_set(&heard.watch, 0);
    watched_turns();
    heard.calls = 0;
    watched_set(&heard.watch, EVENT_READ);
    watched_turn();
    heard_expect_calls(&heard, 1, EVENT_READ, EDGE);
    watched_end();
}

/* Both events of a descriptor, requested one after the other, are watched together, and each is
 * reported alone. */
static void both_events(void)
{
    watched_begin();
    struct pair pair = pair_new(3);
    struct heard heard = heard_new(pair.fd);
    pair_fill(pair.fd);
    watched_add(&heard.watch, EVENT_READ);
    watched_set(&heard.watch, EVENT_READ | EVENT_WRITE);
    watched_turns();
    heard_expect_calls(&heard, 0, 0, EDGE);
    pair_make_readable(pair);
    watched_turn();
    expect_untold(&heard, EVENT_WRITE, OTHER);
    heard_expect_calls(&heard, 1, EVENT_READ, EDGE);
    check_step("reads what descriptor %d has written", pair.fd);
    pair_read_all(pair.peer);
    watched_turn();
    expect_untold(&heard, EVENT_READ, OTHER);
    heard_expect_calls(&heard, 1, EVENT_WRITE, EDGE);
    watched_end();
}

/* More are ready than a backend may report at once. */
static void many_descriptors(void)
{
    static struct heard heard[COUNT];
    static struct pair pairs[COUNT];
    watched_begin();
    for (int i = 0; i < COUNT; i++) {
        pairs[i] = pair_new(3);
        heard[i] = heard_new(pairs[i].fd);
        watched_add(&heard[i].watch, EVENT_READ);
    }
    check_case();
    check_step("makes %d descriptors readable", COUNT);
    for (int i = 0; i < COUNT; i++)
        if (write(pairs[i].peer, "x", 1) != 1)
            check_impossible("write: %s", strerror(errno));
    watched_turns();
    for (int i = 0; i < COUNT; i++)
        heard_expect_calls(&heard[i], 1, EVENT_READ, EDGE);
    watched_end();
}

const struct check checks[] = {
    {"sleeps", sleeps},
    {"one_call", one_call},
    {"resets", resets},
    {"pipes", pipes},
    {"half_close", half_close},
    {"came_before", came_before},
    {"both_events", both_events},
    {"many_descriptors", many_descriptors},
    {0},
};

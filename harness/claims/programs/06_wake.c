/* Calls without readiness: a wake-up from outside, and a callback that requests another call.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "watched_events.h"

#define WAKE  "wake-up"
#define AGAIN "again-next-iteration"

enum { WAKES = 70000, PAUSE_NS = 20 * 1000 * 1000, ERRNO = 1234, ASKED = 5, MANY = 40 };

/* Waking up */

static struct events *sleeper;
static atomic_bool woken; /* the thread is through */

/* Wakes the loop when it sleeps, or is about to. */
static void *wake_it(void *unused)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)unused;
    while (atomic_load(&watched_waits) == 0)
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    events_wake(sleeper);
    atomic_store(&woken, true);
    return NULL;
}

/* The wait was ended by something that the backend has reported. */
static void expect_woken(const char *when)
{
    CHECK(watched_reported > 0, WAKE,
          "events_turn() slept on, although events_wake() was called %s", when);
}

/* Nothing is ready: an iteration finds nothing, and would sleep. */
static void expect_asleep(void)
{
    watched_turn(sleeper);
    CHECK(watched_reported == 0, WAKE,
          "events_wake() was called before the last iteration, but this one was woken again");
}

static void from_a_thread(void)
{
    pthread_t thread;
    sleeper = watched_events_new();
    for (int round = 0; round < 3; round++) {
        atomic_store(&watched_waits, 0);
        atomic_store(&woken, false);
        check_step("calls events_turn() with a timeout of -1, and events_wake() in a thread");
        if (pthread_create(&thread, NULL, wake_it, NULL) != 0)
            check_impossible("no thread can be started");
        bool late;
        do {
            late = atomic_load(&woken);
            events_turn(sleeper, -1);
        } while (watched_reported == 0 && !late);
        expect_woken("by another thread");
        pthread_join(thread, NULL);
        watched_turns(sleeper);
        expect_asleep();
    }
    watched_events_free(sleeper);
}

static void before_the_sleep(void)
{
    sleeper = watched_events_new();
    for (int count = 1; count <= WAKES; count *= 10) {
        check_case();
        check_step("calls events_wake() %d times", count);
        for (int i = 0; i < count; i++) {
            errno = ERRNO;
            events_wake(sleeper);
            CHECK(errno == ERRNO, WAKE, "events_wake() changed errno");
        }
        check_step("calls events_turn() with a timeout of -1");
        events_turn(sleeper, -1);
        expect_woken("before it");
        expect_asleep();
    }
    check_case();
    check_step("calls events_wake() %d times", WAKES);
    for (int i = 0; i < WAKES; i++)
        events_wake(sleeper);
    check_step("calls events_turn() with a timeout of -1");
    events_turn(sleeper, -1);
    expect_woken("before it");
    expect_asleep();
    watched_events_free(sleeper);
}

static void on_signal(int number)
{
    (void)number;
    events_stop(sleeper);
}

static void in_a_signal_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sleeper = watched_events_new();
    CHECK(!events_stopping(sleeper), WAKE, "events_stopping() returned true at the beginning");
    check_step("gets a signal, whose handler calls events_stop()");
    errno = ERRNO;
    raise(SIGUSR1);
    CHECK(errno == ERRNO, WAKE, "events_stop() changed errno");
    CHECK(events_stopping(sleeper), WAKE, "events_stopping() returned false after events_stop()");
    check_step("calls events_turn() with a timeout of -1");
    events_turn(sleeper, -1);
    expect_woken("by events_stop() in a signal handler, before it");
    watched_events_free(sleeper);
}

/* Another call */

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
    {"from_a_thread", from_a_thread},
    {"before_the_sleep", before_the_sleep},
    {"in_a_signal_handler", in_a_signal_handler},
    {"once", once},
    {"beside_others", beside_others},
    {"taken_away", taken_away},
    {"many", many},
    {0},
};

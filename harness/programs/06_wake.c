/* Calls without news: a wake-up from outside, and a callback that asks for another call.
 * links: events.c backend.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "watching.h"

#define WAKE  "wake-up"
#define AGAIN "again-next-turn"

enum { WAKES = 70000, PAUSE_NS = 20 * 1000 * 1000, ERRNO = 1234, ASKED = 5, MANY = 40 };

/* Waking up */

static struct events *sleeper;
static atomic_bool woken; /* the thread is through */

/* Wakes the loop when it sleeps, or is about to. */
static void *wake_it(void *unused)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)unused;
    while (atomic_load(&waits) == 0)
        nanosleep(&pause, NULL);
    nanosleep(&pause, NULL);
    events_wake(sleeper);
    atomic_store(&woken, true);
    return NULL;
}

/* The wait was ended by something that the backend has reported. */
static void expect_woken(const char *when)
{
    CHECK(reported > 0, WAKE, "events_turn() slept on, and events_wake() was called %s", when);
}

/* There is no news left: a turn finds nothing, and would sleep. */
static void expect_asleep(void)
{
    turn(sleeper);
    CHECK(reported == 0, WAKE,
          "events_wake() was called before the last turn, and this one is woken again");
}

static void from_a_thread(void)
{
    pthread_t thread;
    sleeper = new_events();
    for (int round = 0; round < 3; round++) {
        atomic_store(&waits, 0);
        atomic_store(&woken, false);
        check_step("calls events_turn() with a timeout of -1, and events_wake() in a thread");
        if (pthread_create(&thread, NULL, wake_it, NULL) != 0)
            check_impossible("no thread can be started");
        bool late;
        do {
            late = atomic_load(&woken);
            events_turn(sleeper, -1);
        } while (reported == 0 && !late);
        expect_woken("by another thread");
        pthread_join(thread, NULL);
        turns(sleeper);
        expect_asleep();
    }
    free_events(sleeper);
}

static void before_the_sleep(void)
{
    sleeper = new_events();
    for (int count = 1; count <= WAKES; count *= 10) {
        check_case();
        check_step("calls events_wake() %d times", count);
        for (int i = 0; i < count; i++) {
            errno = ERRNO;
            events_wake(sleeper);
            CHECK(errno == ERRNO, WAKE, "events_wake() has changed errno");
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
    free_events(sleeper);
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
    sleeper = new_events();
    CHECK(!events_stopping(sleeper), WAKE, "events_stopping() returned true at the beginning");
    check_step("gets a signal, whose handler calls events_stop()");
    errno = ERRNO;
    raise(SIGUSR1);
    CHECK(errno == ERRNO, WAKE, "events_stop() has changed errno");
    CHECK(events_stopping(sleeper), WAKE, "events_stopping() returned false after events_stop()");
    check_step("calls events_turn() with a timeout of -1");
    events_turn(sleeper, -1);
    expect_woken("by events_stop() in a signal handler, before it");
    free_events(sleeper);
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
    hear(&asker->heard, fd, what);
    if (asker->left-- > 0)
        events_again(e, fd, what & (EVENT_READ | EVENT_WRITE));
}

static void again(struct events *e, int fd, unsigned event)
{
    check_step("calls events_again() for descriptor %d, %s", fd, name_of(event));
    events_again(e, fd, event);
}

/* A turn that could sleep for long, and must not. */
static void turn_at_once(struct events *e)
{
    check_step("calls events_turn() with a timeout of -1");
    int before = atomic_load(&waits);
    events_turn(e, -1);
    CHECK(atomic_load(&waits) == before || waited_ms == 0, AGAIN,
          "a watch is to be called again, and the backend was told to wait (%d ms)", waited_ms);
}

static void once(void)
{
    struct heard reader = {0}, writer = {0};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    add(e, pair.fd, EVENT_READ, on_event, &reader);
    turns(e);
    again(e, pair.fd, EVENT_READ);
    expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    turn_at_once(e);
    expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    turn(e);
    expect_calls(&reader, 0, pair.fd, EVENT_READ, AGAIN);
    add(e, pair.fd, EVENT_WRITE, on_event, &writer);
    write_all_it_takes(pair.fd);
    turns(e);
    writer = (struct heard){0};
    again(e, pair.fd, EVENT_WRITE);
    again(e, pair.fd, EVENT_READ);
    again(e, pair.fd, EVENT_READ);
    turn_at_once(e);
    expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    expect_calls(&writer, 1, pair.fd, EVENT_WRITE, AGAIN);
    make_readable(pair);
    again(e, pair.fd, EVENT_READ);
    turn_at_once(e);
    expect_calls(&reader, 1, pair.fd, EVENT_READ, AGAIN);
    free_events(e);
}

/* In each turn one asks again, and another one has news. */
static void beside_others(void)
{
    struct asker asker = {.left = ASKED};
    struct heard other = {0};
    struct events *e = new_events();
    struct pair a = new_pair(3), b = new_pair(3);
    add(e, a.fd, EVENT_READ, on_ask, &asker);
    add(e, b.fd, EVENT_READ, on_event, &other);
    again(e, a.fd, EVENT_READ);
    for (int i = 0; i <= ASKED; i++) {
        make_readable(b);
        turn_at_once(e);
        expect_calls(&asker.heard, 1, a.fd, EVENT_READ, AGAIN);
        expect_calls(&other, 1, b.fd, EVENT_READ, AGAIN);
    }
    turn(e);
    expect_calls(&asker.heard, 0, a.fd, EVENT_READ, AGAIN);
    free_events(e);
}

static void taken_away(void)
{
    struct heard heard = {0};
    struct events *e = new_events();
    struct pair pair = new_pair(3);
    again(e, pair.fd, EVENT_READ);
    turn(e);
    add(e, pair.fd, EVENT_READ, on_event, &heard);
    again(e, pair.fd, EVENT_WRITE);
    turn(e);
    expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    again(e, pair.fd, EVENT_READ);
    del(e, pair.fd, EVENT_READ);
    turn(e);
    expect_calls(&heard, 0, pair.fd, EVENT_READ, AGAIN);
    free_events(e);
}

/* More of them than the list has room for in the beginning. */
static void many(void)
{
    struct asker askers[MANY] = {0};
    struct pair pairs[MANY];
    struct events *e = new_events();
    for (int i = 0; i < MANY; i++) {
        pairs[i] = new_pair(3);
        askers[i].left = i % 3;
        add(e, pairs[i].fd, EVENT_READ, on_ask, &askers[i]);
        again(e, pairs[i].fd, EVENT_READ);
    }
    for (int round = 0; round < 4; round++) {
        turn(e);
        for (int i = 0; i < MANY; i++)
            expect_calls(&askers[i].heard, round <= i % 3, pairs[i].fd, EVENT_READ, AGAIN);
    }
    free_events(e);
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

/* A wake-up from outside ends the sleep.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "watched_events.h"

#define WAKE "wake-up"

enum { WAKES = 70000, PAUSE_NS = 20 * 1000 * 1000, ERRNO = 1234 };

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

const struct check checks[] = {
    {"from_a_thread", from_a_thread},
    {"before_the_sleep", before_the_sleep},
    {"in_a_signal_handler", in_a_signal_handler},
    {0},
};

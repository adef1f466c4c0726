/* A wake-up from outside ends the sleep.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <signal.h>

#include "watched_events.h"

#define WAKE "wake-up"

enum {
    PIPE_BYTES = 64 << 10, /* after so many a pipe may be full */
    PAUSE_MS = 20,
    ERRNO = 1234
};

static atomic_bool woken; /* the thread is through */

/* Wakes the loop when it sleeps, or is about to. */
static void *wake_it(void *unused)
{
    while (atomic_load(&watched_waits) == 0)
        check_pause(PAUSE_MS);
    check_pause(PAUSE_MS);
    events_wake(watched_events);
    atomic_store(&woken, true);
    return NULL;
}

/* The wait was ended by a descriptor that is ready. */
static void expect_woken(const char *when)
{
    CHECK(watched_ready > 0, WAKE, "events_turn() slept on, although events_wake() was called %s",
          when);
}

/* Nothing is ready: an iteration finds nothing, and would sleep. */
static void expect_asleep(void)
{
    watched_turn();
    CHECK(watched_ready == 0, WAKE,
          "events_wake() was called before the last iteration, but this one was woken again");
}

static void from_a_thread(void)
{
    pthread_t thread;
    watched_begin();
    for (int round = 0; round < 3; round++) {
        atomic_store(&watched_waits, 0);
        atomic_store(&woken, false);
        check_step("calls events_turn() with a timeout of -1, and events_wake() in a thread");
        check_thread(&thread, wake_it, NULL);
        bool late;
        do {
            late = atomic_load(&woken);
            events_turn(watched_events, -1);
        } while (watched_ready == 0 && !late);
        expect_woken("by another thread");
        pthread_join(thread, NULL);
        watched_turns();
        expect_asleep();
    }
    watched_end();
}

static void before_the_sleep(void)
{
    static const int counts[] = {1, 10, 100, 70000};
    long most = check_number("most");
    watched_begin();
    for (int round = 0; round < 4 && counts[round] <= most; round++) {
        check_case();
        check_step("calls events_wake() %s", check_times(counts[round]));
        for (int i = 0; i < counts[round]; i++) {
            errno = ERRNO;
            events_wake(watched_events);
            CHECK(errno == ERRNO || i >= PIPE_BYTES, WAKE, "events_wake() changed errno");
        }
        check_step("calls events_turn() with a timeout of -1");
        events_turn(watched_events, -1);
        expect_woken("before it");
        expect_asleep();
    }
    watched_end();
}

static void on_signal(int number)
{
    events_stop(watched_events);
}

static void in_a_signal_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    watched_begin();
    sigaction(SIGUSR1, &action, NULL);
    CHECK(!events_stopping(watched_events), WAKE,
          "events_stopping() returned true at the beginning");
    check_step("gets a signal, whose handler calls events_stop()");
    errno = ERRNO;
    raise(SIGUSR1);
    CHECK(errno == ERRNO, WAKE, "events_stop() changed errno");
    CHECK(events_stopping(watched_events), WAKE,
          "events_stopping() returned false after events_stop()");
    check_step("calls events_turn() with a timeout of -1");
    events_turn(watched_events, -1);
    expect_woken("by events_stop() in a signal handler, before it");
    watched_end();
}

const struct check checks[] = {
    {"from_a_thread", from_a_thread},
    {"before_the_sleep", before_the_sleep},
    {"in_a_signal_handler", in_a_signal_handler},
    {0},
};

/* An event manager on a backend that is looked at: what it is asked, what it reports, and which
 * callbacks come of it. */
#ifndef WATCHING_H
#define WATCHING_H

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "events.h"

enum {
    DIRTY = 0x5a,      /* in memory that was freed, or is new, where the library can do that */
    OPENED_MAX = 1024, /* ends of pairs */
    LONGEST_MS = 500,  /* of a sleep that should have been ended: then nothing is reported */
    TURNS = 20         /* in which everything that is ready has been called, whatever the batch */
};

/* The backend */

static const struct backend *real;

/* Of the last wait. */
static atomic_int waits;
static int waited_ms;
static int reported;

static inline int spied_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    waited_ms = timeout_ms;
    atomic_fetch_add(&waits, 1);
    if (timeout_ms < 0 || timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS;
    return reported = real->wait(state, ready, max, timeout_ms);
}

/* A manager on the backend that the claim has named. */
static inline struct events *new_events(void)
{
    static struct backend spy;
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    real = backend_find(check_option("backend"));
    if (real == NULL)
        check_impossible("there is no backend %s", check_option("backend"));
    spy = *real;
    spy.wait = spied_wait;
    check_step("calls events_new() with backend %s", real->name);
    struct events *e = events_new(&spy);
    if (e == NULL)
        check_fail("in-the-module", "events_new() returned NULL: %s", strerror(errno));
    return e;
}

/* Descriptors */

static inline void set_nonblocking(int fd)
{
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
        check_impossible("fcntl: %s", strerror(errno));
}

/* A descriptor that is `fd`, or the first free one behind it, and its peer. */
struct pair {
    int fd;
    int peer;
};

static int opened[OPENED_MAX];
static int opened_count;

static inline struct pair new_pair(int fd)
{
    int both[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0)
        check_impossible("socketpair: %s", strerror(errno));
    struct pair pair = {.fd = fcntl(both[0], F_DUPFD, fd), .peer = both[1]};
    close(both[0]);
    if (pair.fd < 0)
        check_impossible("no descriptor as high as %d: %s", fd, strerror(errno));
    set_nonblocking(pair.fd);
    set_nonblocking(pair.peer);
    opened[opened_count++] = pair.fd;
    opened[opened_count++] = pair.peer;
    return pair;
}

static inline void close_pairs(void)
{
    while (opened_count > 0)
        close(opened[--opened_count]);
}

/* The end of a check: cancels the watches that are left, and closes every pair. */
static inline void free_events(struct events *e)
{
    check_step("calls events_free()");
    events_free(e);
    close_pairs();
}

static inline void make_readable(struct pair pair)
{
    check_step("makes descriptor %d readable", pair.fd);
    if (write(pair.peer, "x", 1) != 1)
        check_impossible("write: %s", strerror(errno));
}

static inline void read_all(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

/* Fills what is between the two, so that the descriptor is not writable any more. */
static inline void write_all_it_takes(int fd)
{
    static const char bytes[4096];
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
}

/* Calls */

/* What a callback was told. It is the context of its watch. */
struct heard {
    int calls;
    int fd;
    unsigned what; /* of the last call */
};

static inline void hear(struct heard *heard, int fd, unsigned what)
{
    heard->calls++;
    heard->fd = fd;
    heard->what = what;
}

/* A callback that reads all there is, so that it is news again when more comes. */
static inline void on_event(struct events *e, int fd, unsigned what, void *context)
{
    (void)e;
    hear(context, fd, what);
    if (what & EVENT_READ && !(what & EVENT_CANCELLED))
        read_all(fd);
}

static inline const char *name_of(unsigned event)
{
    return event == EVENT_READ ? "EVENT_READ" : "EVENT_WRITE";
}

/* "EVENT_READ | EVENT_HANGUP". Good until the function has been called four times more. */
static inline const char *names_of(unsigned what)
{
    static const char *const names[] = {"EVENT_READ", "EVENT_WRITE", "EVENT_HANGUP",
                                        "EVENT_CANCELLED"};
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % 4];
    strcpy(text, what == 0 ? "nothing" : "");
    for (unsigned bit = 0; bit < 4; bit++)
        if (what & 1u << bit)
            strcat(strcat(text, *text ? " | " : ""), names[bit]);
    return text;
}

static inline bool try_add(struct events *e, int fd, unsigned event, events_callback *call,
                           void *context)
{
    check_step("calls events_add() for descriptor %d, %s", fd, name_of(event));
    return events_add(e, fd, event, call, context);
}

static inline void add(struct events *e, int fd, unsigned event, events_callback *call,
                       void *context)
{
    CHECK(try_add(e, fd, event, call, context), "watch-lost", "events_add() returned false: %s",
          strerror(errno));
}

static inline bool del(struct events *e, int fd, unsigned event)
{
    check_step("calls events_del() for descriptor %d, %s", fd, name_of(event));
    return events_del(e, fd, event);
}

/* One turn that does not sleep. */
static inline void turn(struct events *e)
{
    check_step("calls events_turn() with a timeout of 0");
    events_turn(e, 0);
}

/* As many turns as it takes until the backend has nothing more to report; some never have. */
static inline void turns(struct events *e)
{
    check_step("calls events_turn() with a timeout of 0, again and again");
    for (int i = 0; i < TURNS; i++)
        events_turn(e, 0);
}

static inline void expect_interest(struct events *e, int fd, unsigned due, const char *hint)
{
    unsigned interest = events_interest(e, fd);
    CHECK(interest == due, hint, "events_interest() of descriptor %d gives %s instead of %s", fd,
          names_of(interest), names_of(due));
}

/* The watch was called `calls` times since the last look, for this event and descriptor. */
static inline void expect_calls(struct heard *heard, int calls, int fd, unsigned event,
                                const char *hint)
{
    CHECK(heard->calls == calls, hint,
          "the callback of descriptor %d, %s, was called %d times instead of %d", fd,
          name_of(event), heard->calls, calls);
    if (calls > 0)
        CHECK(heard->fd == fd && heard->what & event, hint,
              "the callback of descriptor %d, %s, was called for descriptor %d, %s", fd,
              name_of(event), heard->fd, names_of(heard->what));
    *heard = (struct heard){0};
}

#endif

#include "watched_events.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DIRTY = 0x5a,      /* in memory that was freed, or is new, where the library can do that */
    OPENED_MAX = 1024, /* ends of pairs */
    LONGEST_MS = 500,  /* of a sleep that should have been ended: then nothing is reported */
    TURNS = 20         /* in which everything that is ready has been called, whatever the batch */
};

/* From chapter 11 on there is a backend in which operations complete, and nothing is reported. */
#if __has_include("ring.h")
#define IS_URING(name) (strcmp(name, "uring") == 0)
#else
#define IS_URING(name) false
#define backend_uring  backend_epoll
#endif

/* The backend */

const struct backend *watched_backend;
atomic_int watched_waits;
struct events *watched_events;
int watched_timeout_ms;
int watched_reported;

static int spied_wait(void *state, struct ready *ready, int max, int timeout_ms)
{
    watched_timeout_ms = timeout_ms;
    atomic_fetch_add(&watched_waits, 1);
    if (timeout_ms < 0 || timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS;
    return watched_reported = watched_backend->wait(state, ready, max, timeout_ms);
}

const struct backend *watched_find(const char *name)
{
    static const struct backend *const all[] = {&backend_select, &backend_poll, &backend_epoll};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

void watched_begin(void)
{
    static struct backend spy;
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    const char *name = check_option("backend");
    watched_backend = IS_URING(name) ? &backend_uring : watched_find(name);
    if (watched_backend == NULL)
        check_impossible("there is no backend %s", name);
    spy = *watched_backend;
    spy.wait = spied_wait;
    check_step("calls events_new() with backend %s", watched_backend->name);
    watched_events = events_new(&spy);
    CHECK(watched_events != NULL, "module-refuses", "events_new() returned NULL: %s",
          strerror(errno));
}

/* Descriptors */

void pair_set_nonblocking(int fd)
{
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
        check_impossible("fcntl: %s", strerror(errno));
}

static int opened[OPENED_MAX];
static int opened_count;

struct pair pair_new(int fd)
{
    int both[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0)
        check_impossible("socketpair: %s", strerror(errno));
    struct pair pair = {.fd = fcntl(both[0], F_DUPFD, fd), .peer = both[1]};
    close(both[0]);
    if (pair.fd < 0)
        check_impossible("no descriptor as high as %d: %s", fd, strerror(errno));
    pair_set_nonblocking(pair.fd);
    pair_set_nonblocking(pair.peer);
    opened[opened_count++] = pair.fd;
    opened[opened_count++] = pair.peer;
    return pair;
}

void pair_close(int fd)
{
    for (int i = 0; i < opened_count; i++)
        if (opened[i] == fd)
            opened[i--] = opened[--opened_count];
    close(fd);
}

static void close_pairs(void)
{
    while (opened_count > 0)
        close(opened[--opened_count]);
}

void watched_end(void)
{
    check_step("calls events_free()");
    events_free(watched_events);
    close_pairs();
}

void pair_make_readable(struct pair pair)
{
    check_step("makes descriptor %d readable", pair.fd);
    if (write(pair.peer, "x", 1) != 1)
        check_impossible("write: %s", strerror(errno));
}

void pair_read_all(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
}

void pair_fill(int fd)
{
    static const char bytes[4096];
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
}

/* Calls */

void heard_note(struct heard *heard, int fd, unsigned what)
{
    heard->calls++;
    heard->fd = fd;
    heard->what = what;
}

void heard_on_event(struct events *e, int fd, unsigned what, void *context)
{
    heard_note(context, fd, what);
    if (what & EVENT_READ && !(what & EVENT_CANCELLED))
        pair_read_all(fd);
}

const char *watched_name_of(unsigned event)
{
    return event == EVENT_READ ? "EVENT_READ" : "EVENT_WRITE";
}

const char *watched_names_of(unsigned what)
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

bool watched_try_add(int fd, unsigned event, events_callback *call, void *context)
{
    check_step("calls events_add() for descriptor %d, %s", fd, watched_name_of(event));
    return events_add(watched_events, fd, event, call, context);
}

void watched_add(int fd, unsigned event, events_callback *call, void *context)
{
    CHECK(watched_try_add(fd, event, call, context), "watch-lost",
          "events_add() returned false: %s", strerror(errno));
}

bool watched_del(int fd, unsigned event)
{
    check_step("calls events_del() for descriptor %d, %s", fd, watched_name_of(event));
    return events_del(watched_events, fd, event);
}

void watched_turn(void)
{
    check_step("calls events_turn() with a timeout of 0");
    events_turn(watched_events, 0);
}

void watched_turns(void)
{
    check_step("calls events_turn() with a timeout of 0, again and again");
    for (int i = 0; i < TURNS; i++)
        events_turn(watched_events, 0);
}

void watched_expect_interest(int fd, unsigned due, const char *hint)
{
    unsigned interest = events_interest(watched_events, fd);
    CHECK(interest == due, hint, "events_interest() of descriptor %d gives %s instead of %s", fd,
          watched_names_of(interest), watched_names_of(due));
}

void heard_expect_calls(struct heard *heard, int calls, int fd, unsigned event, const char *hint)
{
    CHECK(heard->calls == calls, hint,
          "the callback of descriptor %d, %s, was called %d times instead of %d", fd,
          watched_name_of(event), heard->calls, calls);
    if (calls > 0)
        CHECK(heard->fd == fd && heard->what & event, hint,
              "the callback of descriptor %d, %s, was called for descriptor %d, %s", fd,
              watched_name_of(event), heard->fd, watched_names_of(heard->what));
    *heard = (struct heard){0};
}

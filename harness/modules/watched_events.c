#include "watched_events.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    DIRTY = 0x5a,      /* in memory that was freed, or is new, where the library can do that */
    OPENED_MAX = 1024, /* ends of pairs */
    FD_MAX = 8192,     /* descriptors that the backend is told of */
    LONGEST_MS = 500,  /* of a sleep that should have been ended: then nothing is ready */
    TURNS = 20         /* in which everything that is ready has been called, whatever the batch */
};

/* From chapter 11 on there is a backend in which operations complete, and nothing is reported.
 * Where it is not linked its address is NULL. */
extern const struct backend backend_uring __attribute__((weak));

/* The backend */

const struct backend *watched_backend;
atomic_int watched_waits;
struct events *watched_events;
int watched_timeout_ms;
int watched_ready;
bool watched_refuses;
int watched_sets;

/* What the real backend was told, by descriptor. `events` is -1: it is not watched. */
static struct pollfd told[FD_MAX];
static nfds_t told_end; /* above every descriptor in it */

static void tell(int fd, int interest)
{
    if (fd < 0 || fd >= FD_MAX)
        check_impossible("descriptor %d is beyond what is looked at", fd);
    short events = 0;
    if (interest & EVENT_READ)
        events |= POLLIN;
    if (interest & EVENT_WRITE)
        events |= POLLOUT;
    while (told_end <= (nfds_t)fd)
        told[told_end++] = (struct pollfd){.fd = -1};
    told[fd] = (struct pollfd){.fd = interest < 0 ? -1 : fd, .events = events};
}

static bool refused(void)
{
    if (watched_refuses)
        errno = ENOSPC;
    return watched_refuses;
}

static bool spied_add(void *state, int fd, unsigned interest, struct watch *watch)
{
    if (refused() || !watched_backend->add(state, fd, interest, watch))
        return false;
    tell(fd, (int)interest);
    return true;
}

static bool spied_set(void *state, int fd, unsigned interest, struct watch *watch)
{
    watched_sets++;
    if (refused() || !watched_backend->set(state, fd, interest, watch))
        return false;
    tell(fd, (int)interest);
    return true;
}

static void spied_del(void *state, int fd)
{
    watched_backend->del(state, fd);
    tell(fd, -1);
}

static bool spied_wait(void *state, struct events *events, int timeout_ms)
{
    watched_timeout_ms = timeout_ms;
    atomic_fetch_add(&watched_waits, 1);
    if (timeout_ms < 0 || timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS;
    bool waited = watched_backend->wait(state, events, timeout_ms);
    int saved_errno = errno;
    watched_ready = poll(told, told_end, 0);
    errno = saved_errno;
    return waited;
}

static const struct backend *find(const char *name)
{
    static const struct backend *const all[] = {&backend_select, &backend_poll, &backend_epoll};
    if (strcmp(name, "uring") == 0 && &backend_uring != NULL)
        return &backend_uring;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* The hint when a function of the module fails: epoll_ctl() says by errno what is wrong. */
static const char *hint_of_errno(const char *otherwise)
{
    bool in_the_list = errno == EEXIST || errno == ENOENT;
    return in_the_list && watched_backend == &backend_epoll ? "epoll-operation" : otherwise;
}

void watched_begin(void)
{
    static struct backend spy;
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    const char *name = check_option("backend");
    watched_backend = find(name);
    if (watched_backend == NULL)
        check_impossible("there is no backend %s", name);
    told_end = 0;
    spy = *watched_backend;
    spy.add = spied_add;
    spy.set = spied_set;
    spy.del = spied_del;
    spy.wait = spied_wait;
    check_step("calls events_new() with backend %s", watched_backend->name);
    errno = 0;
    watched_events = events_new(&spy);
    CHECK(watched_events != NULL, hint_of_errno("module-refuses"), "events_new() returned NULL: %s",
          check_reason());
}

unsigned watched_interest(int fd)
{
    if ((nfds_t)fd >= told_end || told[fd].fd < 0)
        return 0;
    return (told[fd].events & POLLIN ? EVENT_READ : 0) |
           (told[fd].events & POLLOUT ? EVENT_WRITE : 0);
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

/* Watches */

struct heard *heard_note(struct watch *watch, unsigned what)
{
    struct heard *heard = (struct heard *)watch;
    heard->calls++;
    heard->what = what;
    return heard;
}

static void on_event(struct events *e, struct watch *watch, unsigned what)
{
    heard_note(watch, what);
    if (what & EVENT_READ)
        pair_read_all(watch->fd);
}

struct heard heard_new(int fd)
{
    return (struct heard){.watch = {.fd = fd, .call = on_event}};
}

const char *watched_names_of(unsigned what)
{
    static const char *const names[] = {"EVENT_READ", "EVENT_WRITE", "EVENT_HANGUP", "EVENT_ERROR"};
    static char texts[4][64];
    static unsigned next;
    char *text = texts[next++ % 4];
    strcpy(text, what == 0 ? "nothing" : "");
    for (unsigned bit = 0; bit < 4; bit++)
        if (what & 1u << bit)
            strcat(strcat(text, *text ? " | " : ""), names[bit]);
    return text;
}

bool watched_try_add(struct watch *watch, unsigned interest)
{
    check_step("calls events_add() for descriptor %d, %s", watch->fd, watched_names_of(interest));
    return events_add(watched_events, watch, interest);
}

void watched_add(struct watch *watch, unsigned interest)
{
    errno = 0;
    CHECK(watched_try_add(watch, interest), hint_of_errno("watch-lost"),
          "events_add() returned false: %s", check_reason());
}

bool watched_try_set(struct watch *watch, unsigned interest)
{
    check_step("calls events_set() for descriptor %d, %s", watch->fd, watched_names_of(interest));
    return events_set(watched_events, watch, interest);
}

void watched_set(struct watch *watch, unsigned interest)
{
    errno = 0;
    CHECK(watched_try_set(watch, interest), hint_of_errno("watch-lost"),
          "events_set() returned false: %s", check_reason());
}

void watched_del(struct watch *watch)
{
    check_step("calls events_del() for descriptor %d", watch->fd);
    events_del(watched_events, watch);
}

void watched_again(struct watch *watch)
{
    check_step("calls events_again() for descriptor %d", watch->fd);
    events_again(watched_events, watch);
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
    unsigned interest = watched_interest(fd);
    CHECK(interest == due, hint, "the backend was told to watch descriptor %d for %s; due is %s",
          fd, watched_names_of(interest), watched_names_of(due));
}

void heard_expect_calls(struct heard *heard, int calls, unsigned due, const char *hint)
{
    int fd = heard->watch.fd;
    const char *what = heard->calls == 0 ? "" : watched_names_of(heard->what);
    CHECK(heard->calls == calls, hint,
          "the callback of descriptor %d was called %s instead of %s%s%s", fd,
          check_times(heard->calls), check_times(calls), *what ? ", with " : "", what);
    if (calls > 0)
        CHECK((heard->what & due) == due, hint,
              "the callback of descriptor %d got %s instead of %s", fd,
              watched_names_of(heard->what), watched_names_of(due));
    heard->calls = 0;
    heard->what = 0;
}

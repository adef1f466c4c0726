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
    LONGEST_MS = 500   /* of a sleep that should have been ended: then nothing is ready */
};

/* From chapter 11 on there is a backend in which operations complete, and nothing is reported.
 * Where it is not linked its address is NULL. */
extern const struct backend backend_uring __attribute__((weak));

struct events *watched_events;
atomic_int watched_waits;
int watched_timeout_ms;
int watched_ready;
int watched_sets;
bool watched_refuses;

static const struct backend *real; /* behind the one that looks */

/* What it was told, by descriptor. `fd` is -1: it is not watched. */
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
    if (refused() || !real->add(state, fd, interest, watch))
        return false;
    tell(fd, (int)interest);
    return true;
}

static bool spied_set(void *state, int fd, unsigned interest, struct watch *watch)
{
    watched_sets++;
    if (refused() || !real->set(state, fd, interest, watch))
        return false;
    tell(fd, (int)interest);
    return true;
}

static void spied_del(void *state, int fd)
{
    real->del(state, fd);
    tell(fd, -1);
}

static bool spied_wait(void *state, struct events *events, int timeout_ms)
{
    watched_timeout_ms = timeout_ms;
    atomic_fetch_add(&watched_waits, 1);
    if (timeout_ms < 0 || timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS;
    bool waited = real->wait(state, events, timeout_ms);
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
    check_impossible("there is no backend %s", name);
}

const char *watched_hint(const char *otherwise)
{
    bool in_the_list = errno == EEXIST || errno == ENOENT;
    return in_the_list && real == &backend_epoll ? "epoll-operation" : otherwise;
}

void watched_begin(void)
{
    static struct backend spy;
#ifdef M_PERTURB
    mallopt(M_PERTURB, DIRTY);
#endif
    real = find(check_option("backend"));
    told_end = 0;
    spy = *real;
    spy.add = spied_add;
    spy.set = spied_set;
    spy.del = spied_del;
    spy.wait = spied_wait;
    check_step("calls events_new() with backend %s", real->name);
    errno = 0;
    watched_events = events_new(&spy);
    CHECK(watched_events != NULL, watched_hint("module-refuses"), "events_new() returned NULL: %s",
          check_reason());
}

void watched_expect_interest(int fd, unsigned due, const char *hint)
{
    static const char *const names[] = {"nothing", "EVENT_READ", "EVENT_WRITE",
                                        "EVENT_READ | EVENT_WRITE"};
    unsigned interest = 0;
    if ((nfds_t)fd < told_end && told[fd].fd >= 0)
        interest = (told[fd].events & POLLIN ? EVENT_READ : 0) |
                   (told[fd].events & POLLOUT ? EVENT_WRITE : 0);
    CHECK(interest == due, hint, "the backend was told to watch descriptor %d for %s; due is %s",
          fd, names[interest], names[due]);
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

void watched_end(void)
{
    check_step("calls events_free()");
    events_free(watched_events);
    while (opened_count > 0)
        close(opened[--opened_count]);
}

/* select(2): three sets of bits, copied in and out at each call; no descriptor above 1,023. */
#include "events/backend.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>

/* How often descriptors in no set are looked at, in seconds. */
enum { LOOK_SECONDS = 1 };

struct state {
    fd_set readers;
    fd_set writers;
    struct watch *watches[FD_SETSIZE]; /* NULL: not watched */
    int end;                           /* above every descriptor that was watched */
    int quiet;                         /* how many are watched for nothing but errors */
    time_t looked;                     /* when these were last looked at */
};

static void *select_open(void)
{
    return calloc(1, sizeof(struct state));
}

static void select_close(void *state)
{
    free(state);
}

static bool is_quiet(const struct state *s, int fd)
{
    return s->watches[fd] != NULL && !FD_ISSET(fd, &s->readers) && !FD_ISSET(fd, &s->writers);
}

static void select_del(void *state, int fd)
{
    struct state *s = state;
    if (is_quiet(s, fd))
        s->quiet--;
    s->watches[fd] = NULL;
    FD_CLR(fd, &s->readers);
    FD_CLR(fd, &s->writers);
}

static bool select_add(void *state, int fd, unsigned interest, struct watch *watch)
{
    struct state *s = state;
    if (fd >= FD_SETSIZE) {
        errno = EMFILE;
        return false;
    }
    select_del(s, fd);
    s->watches[fd] = watch;
    if (interest & EVENT_READ)
        FD_SET(fd, &s->readers);
    if (interest & EVENT_WRITE)
        FD_SET(fd, &s->writers);
    if (is_quiet(s, fd))
        s->quiet++;
    if (fd >= s->end)
        s->end = fd + 1;
    return true;
}

/* Of a descriptor in no set select() says nothing, not even that it is broken. So poll() is asked
 * now and then, which reports errors even if no event is requested. */
static void look_at_quiet(struct state *s, struct events *events)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (s->quiet == 0 || now.tv_sec < s->looked + LOOK_SECONDS)
        return;
    s->looked = now.tv_sec;
    for (int fd = 0; fd < s->end; fd++) {
        struct pollfd one = {.fd = fd};
        if (is_quiet(s, fd) && poll(&one, 1, 0) == 1 && (one.revents & POLLERR))
            events_report(events, s->watches[fd], EVENT_READ | EVENT_WRITE | EVENT_ERROR);
    }
}

/* select() reports errors and hang-ups as readable, and as writable. */
static bool select_wait(void *state, struct events *events, int timeout_ms)
{
    struct state *s = state;
    fd_set readers = s->readers;
    fd_set writers = s->writers;
    int most_ms = 1000 * LOOK_SECONDS;
    if (s->quiet > 0 && (timeout_ms < 0 || timeout_ms > most_ms))
        timeout_ms = most_ms;
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (select(s->end, &readers, &writers, NULL, timeout_ms < 0 ? NULL : &limit) < 0)
        return false;
    for (int fd = 0; fd < s->end; fd++) {
        unsigned what =
            (FD_ISSET(fd, &readers) ? EVENT_READ : 0) | (FD_ISSET(fd, &writers) ? EVENT_WRITE : 0);
        if (what != 0)
            events_report(events, s->watches[fd], what);
    }
    look_at_quiet(s, events);
    return true;
}

const struct backend backend_select = {
    .name = "select",
    .open = select_open,
    .close = select_close,
    .add = select_add,
    .set = select_add, /* the old entry is replaced */
    .del = select_del,
    .wait = select_wait,
};

/* An event manager, and what its callbacks are told. The claim says what happens, in steps like
 *
 *     "input a, watch ab r, turn, got a r, got b -"
 *
 * Each is a verb, see `verbs`; then watches, a letter each, or a number; then events: r, w, h(angup)
 * and e(rror). Each watch has a pair of sockets, and its callback reads all input. "*" is every
 * watch; "others" is every one but that which was called first.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "watched_events.h"

enum {
    LETTERS = 26,
    CROWD = 300,           /* more than a backend may report at once */
    TURNS = 20,            /* in which everything that is ready was called, whatever the batch */
    CALLS_MAX = 1000,      /* of callbacks, between two looks */
    PIPE_BYTES = 64 << 10, /* after so many wake-ups a pipe may be full */
    PAUSE_MS = 20,
    ERRNO = 1234,
    NOT_CALLED = 1 << 8 /* in the place of events */
};

/* A watch, and what its callback was told since the last look. */
struct party {
    struct watch watch; /* the first member: a callback gets its address */
    int at;             /* in `parties` */
    int peer;
    bool added;
    int calls;
    unsigned what;    /* of the last call */
    const char *then; /* steps in each callback, or NULL */
};

static struct party *parties[LETTERS];
static const char *hint;
static const char *first; /* steps in the callback that comes first, or NULL */
static int caller;        /* that one */
static int calls;         /* of all callbacks, since the last look */

static void run_steps(const char *text, char between);

/* "EVENT_READ | EVENT_HANGUP". Good until the function has been called twice more. */
static const char *names_of(unsigned what)
{
    static const char *const names[] = {"EVENT_READ", "EVENT_WRITE", "EVENT_HANGUP", "EVENT_ERROR"};
    static char texts[2][64];
    static unsigned next;
    char *text = texts[next++ % 2];
    strcpy(text, what == 0 ? "nothing" : "");
    for (unsigned bit = 0; bit < 4; bit++)
        if (what & 1u << bit)
            strcat(strcat(text, *text ? " | " : ""), names[bit]);
    return text;
}

static void read_all(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0)
        continue;
}

static void on_event(struct events *e, struct watch *watch, unsigned what)
{
    struct party *p = (struct party *)watch;
    const char *then = p->then, *now = first;
    p->calls++;
    p->what = what;
    CHECK(++calls < CALLS_MAX, hint, "callbacks are called again and again");
    if (what & EVENT_READ)
        read_all(watch->fd);
    if (then != NULL)
        run_steps(then, '+');
    if (now == NULL)
        return;
    caller = p->at;
    first = NULL;
    run_steps(now, '+'); /* which may free the party */
}

static struct party *new_party(int at)
{
    struct party *p = check_memory(sizeof *p);
    struct pair pair = pair_new(3);
    *p = (struct party){.watch = {.fd = pair.fd, .call = on_event}, .at = at, .peer = pair.peer};
    return p;
}

/* Other descriptors than a socket */

static void take_writer(struct party *p, unsigned unused)
{
    int ends[2];
    if (pipe(ends) != 0)
        check_impossible("pipe: %s", strerror(errno));
    pair_set_nonblocking(ends[1]);
    p->watch.fd = ends[1];
    p->peer = ends[0];
}

static void take_file(struct party *p, unsigned unused)
{
    p->watch.fd = open("/proc/self/exe", O_RDONLY);
    p->peer = -1;
}

static void take_that_of_a(struct party *p, unsigned unused)
{
    p->watch.fd = parties[0]->watch.fd;
}

/* Calls of the manager */

/* Adds the watch, or changes its interest. */
static bool change(struct party *p, unsigned events)
{
    check_step("calls %s() for descriptor %d, %s", p->added ? "events_set" : "events_add",
               p->watch.fd, names_of(events));
    errno = 0;
    return (p->added ? events_set : events_add)(watched_events, &p->watch, events);
}

static void watch(struct party *p, unsigned events)
{
    CHECK(change(p, events), watched_hint("watch-lost"), "it returned false: %s", check_reason());
    p->added = true;
}

static void watch_the_same(struct party *p, unsigned events)
{
    int sets = watched_sets;
    watch(p, events);
    CHECK(watched_sets == sets, hint,
          "the interest of descriptor %d has not changed, but the backend was told of it",
          p->watch.fd);
}

/* Has to fail as the backend does: by itself for a file, or else because the check wants it. */
static void watch_in_vain(struct party *p, unsigned events)
{
    int due = p->peer < 0 ? EPERM : ENOSPC;
    watched_refuses = due == ENOSPC;
    CHECK(!change(p, events), hint, "the backend failed with \"%s\", but it returned true",
          strerror(due));
    CHECK(errno == due, hint, "errno says \"%s\" instead of the backend's \"%s\"", check_reason(),
          strerror(due));
    CHECK(p->watch.added == p->added, hint, "the backend failed, but `added` has changed");
    watched_refuses = false;
}

static void del(struct party *p, unsigned unused)
{
    check_step("calls events_del() for descriptor %d", p->watch.fd);
    events_del(watched_events, &p->watch);
    p->added = false;
}

static void del_and_free(struct party *p, unsigned unused)
{
    del(p, 0);
    CHECK(p->watch.queue == NULL, "called-after-del",
          "events_del() returned, but the watch of descriptor %d still waits to be called",
          p->watch.fd);
    parties[p->at] = NULL;
    free(p);
}

static void again(struct party *p, unsigned unused)
{
    check_step("calls events_again() for descriptor %d", p->watch.fd);
    events_again(watched_events, &p->watch);
}

/* What happens to a descriptor */

static void input(struct party *p, unsigned unused)
{
    check_step("makes descriptor %d readable", p->watch.fd);
    if (write(p->peer, "x", 1) != 1)
        check_impossible("write: %s", strerror(errno));
}

static void fill(struct party *p, unsigned unused)
{
    static const char bytes[4096];
    check_step("fills descriptor %d, so that it is not writable", p->watch.fd);
    while (write(p->watch.fd, bytes, sizeof bytes) > 0)
        continue;
}

static void drain(struct party *p, unsigned unused)
{
    check_step("reads all that is there for descriptor %d and its peer", p->watch.fd);
    read_all(p->watch.fd);
    read_all(p->peer);
}

static void end(struct party *p, unsigned unused)
{
    check_step("half-closes the peer of descriptor %d, or closes the other end of its pipe",
               p->watch.fd);
    if (shutdown(p->peer, SHUT_WR) != 0)
        close(p->peer);
}

/* Iterations */

static void turn(struct party *nobody, unsigned timeout_ms)
{
    check_step("calls events_turn() with a timeout of %d", (int)timeout_ms);
    events_turn(watched_events, (int)timeout_ms);
}

/* Iterations until nothing more is reported, if that is ever so. What they tell is forgotten. */
static void settle(struct party *nobody, unsigned unused)
{
    check_step("calls events_turn() with a timeout of 0, again and again");
    for (int i = 0; i < TURNS; i++, calls = 0)
        events_turn(watched_events, 0);
    for (int i = 0; i < LETTERS; i++)
        if (parties[i] != NULL)
            parties[i]->calls = 0;
}

/* An iteration that could sleep for long, and must not. */
static void turn_at_once(struct party *nobody, unsigned unused)
{
    int before = atomic_load(&watched_waits);
    turn(NULL, -1u);
    CHECK(atomic_load(&watched_waits) == before || watched_timeout_ms == 0, hint,
          "a watch is due to be called again, but the backend was told to wait (%d ms)",
          watched_timeout_ms);
}

/* An iteration in which nothing is ready. */
static void sleep_for(struct party *nobody, unsigned timeout_ms)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    turn(NULL, timeout_ms);
    clock_gettime(CLOCK_MONOTONIC, &to);
    long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    CHECK(ms >= timeout_ms / 2, hint, "nothing is ready, but it returned after %ld ms", ms);
}

/* Wake-ups */

static void wake(struct party *nobody, unsigned count)
{
    check_step("calls events_wake() %s", check_times(count));
    for (unsigned i = 0; i < count; i++) {
        errno = ERRNO;
        events_wake(watched_events);
        CHECK(errno == ERRNO || i >= PIPE_BYTES, hint, "events_wake() changed errno");
    }
}

static atomic_bool woken; /* the thread is through, or there is none */

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

static void expect_woken(struct party *nobody, unsigned in_a_thread)
{
    pthread_t thread;
    bool late;
    atomic_store(&watched_waits, 0);
    atomic_store(&woken, !in_a_thread);
    check_step("calls events_turn() with a timeout of -1%s",
               in_a_thread ? ", and events_wake() in another thread" : "");
    if (in_a_thread)
        check_thread(&thread, wake_it, NULL);
    do {
        late = atomic_load(&woken);
        events_turn(watched_events, -1);
    } while (watched_ready == 0 && !late);
    if (in_a_thread)
        pthread_join(thread, NULL);
    CHECK(watched_ready > 0, hint, "events_turn() slept on, although events_wake() was called");
}

/* An iteration that would sleep. */
static void expect_asleep(struct party *nobody, unsigned unused)
{
    turn(NULL, 0);
    CHECK(watched_ready == 0, hint,
          "events_wake() was called before the last iteration, but this one was woken again");
}

/* What callbacks were told */

/* At least these events, in one call; or no call. */
static void got(struct party *p, unsigned events)
{
    int due = events != NOT_CALLED, fd = p->watch.fd;
    CHECK(p->calls == due, hint, "the callback of descriptor %d was called %s instead of %s%s%s",
          fd, check_times(p->calls), check_times(due), p->calls ? ", with " : "",
          p->calls ? names_of(p->what) : "");
    CHECK(!due || (p->what & events) == events, hint,
          "the callback of descriptor %d got %s instead of %s", fd, names_of(p->what),
          names_of(events));
    p->calls = calls = 0;
}

/* The same, and not the other direction. */
static void got_only(struct party *p, unsigned events)
{
    got(p, events);
    CHECK(!(p->what & ~events & (EVENT_READ | EVENT_WRITE)), hint,
          "for descriptor %d %s is due, but its callback got %s", p->watch.fd, names_of(events),
          names_of(p->what));
}

static void sum_of_calls(struct party *nobody, unsigned due)
{
    CHECK(calls == (int)due, hint, "callbacks were called %s instead of %s", check_times(calls),
          check_times(due));
    calls = 0;
}

/* Steps */

static const struct verb {
    const char *name;
    void (*run)(struct party *p, unsigned events); /* for each watch; or once, with a number */
} verbs[] = {
    {"pipe", take_writer},
    {"file", take_file},
    {"twin", take_that_of_a},
    {"watch", watch},
    {"same", watch_the_same},
    {"refused", watch_in_vain},
    {"del", del},
    {"free", del_and_free},
    {"again", again},
    {"input", input},
    {"fill", fill},
    {"drain", drain},
    {"end", end},
    {"turn", turn},
    {"settle", settle},
    {"soon", turn_at_once},
    {"sleep", sleep_for},
    {"wake", wake},
    {"woken", expect_woken},
    {"asleep", expect_asleep},
    {"got", got},
    {"only", got_only},
    {"calls", sum_of_calls},
    {0},
};

static unsigned events_in(const char *letters)
{
    unsigned events = *letters == '-' ? NOT_CALLED : 0;
    for (unsigned bit = 0; bit < 4; bit++)
        if (strchr(letters, "rwhe"[bit]) != NULL)
            events |= 1u << bit;
    return events;
}

static bool is_named(const char *names, int i)
{
    bool others = strcmp(names, "others") == 0;
    if (others || strcmp(names, "*") == 0)
        return parties[i] != NULL && !(others && i == caller);
    return strchr(names, 'a' + i) != NULL;
}

static void run_verb(const struct verb *verb, const char *names, const char *events)
{
    if (*names == '\0' || (*names >= '0' && *names <= '9')) {
        verb->run(NULL, (unsigned)atoi(names));
        return;
    }
    for (int i = 0; i < LETTERS; i++) {
        if (!is_named(names, i))
            continue;
        if (parties[i] == NULL)
            parties[i] = new_party(i);
        verb->run(parties[i], events_in(events));
    }
}

/* "first STEP + STEP" and "then a STEP + STEP" are for callbacks. */
static void run_step(const char *step, size_t size)
{
    char text[64], name[16] = "", names[16] = "", events[8] = "";
    int after_name = 0, after_names = 0;
    snprintf(text, sizeof text, "%.*s", (int)size, step);
    sscanf(text, "%15s%n %15s%n %7s", name, &after_name, names, &after_names, events);
    if (strcmp(name, "first") == 0) {
        first = step + after_name;
    } else if (strcmp(name, "then") == 0) {
        parties[*names - 'a']->then = step + after_names;
    } else {
        const struct verb *verb = verbs;
        while (verb->name != NULL && strcmp(verb->name, name) != 0)
            verb++;
        if (verb->name == NULL)
            check_impossible("there is no step %s", text);
        run_verb(verb, names, events);
    }
}

/* With `between` "," all steps; with "+" those up to the next ",". */
static void run_steps(const char *text, char between)
{
    for (bool more = true; more;) {
        size_t size = strcspn(text, ",+");
        if (between == ',')
            size = strcspn(text, ",");
        more = text[size] == between;
        run_step(text, size);
        text += size + more;
    }
}

static void steps(void)
{
    hint = check_option("hint");
    watched_begin();
    run_steps(check_option("script"), ',');
    watched_end();
}

static void crowd(void)
{
    static struct party *all[CROWD];
    hint = check_option("hint");
    watched_begin();
    for (int i = 0; i < CROWD; i++) {
        all[i] = new_party(-1);
        watch(all[i], EVENT_READ);
    }
    check_case();
    for (int i = 0; i < CROWD; i++)
        input(all[i], 0);
    settle(NULL, 0);
    for (int i = 0; i < CROWD; i++)
        got(all[i], EVENT_READ);
    watched_end();
}

const struct check checks[] = {
    {"steps", steps},
    {"crowd", crowd},
    {0},
};

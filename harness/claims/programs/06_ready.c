/* What a backend reports: errors, hang-ups, and what has come already.
 * links: events.c backend_select.c backend_poll.c backend_epoll.c log.c */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "watched_events.h"

#define BOTH  "errors-wake-both"
#define EDGE  "told-once"
#define ENDED "hangup-untold"

enum { COUNT = 300, RESET_MS = 5000 };

/* Errors */

/* The two ends of a TCP connection. */
static struct pair new_connection(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), peer = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        connect(peer, (struct sockaddr *)&address, size) != 0)
        check_impossible("no TCP connection: %s", strerror(errno));
    struct pair pair = {.fd = accept(listener, NULL, NULL), .peer = peer};
    close(listener);
    pair_set_nonblocking(pair.fd);
    return pair;
}

static void reset(struct pair pair)
{
    struct linger at_once = {.l_onoff = 1};
    check_step("resets the connection of descriptor %d", pair.fd);
    setsockopt(pair.peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(pair.peer);
    struct pollfd ready = {.fd = pair.fd};
    if (poll(&ready, 1, RESET_MS) != 1)
        check_impossible("a reset does not arrive");
}

/* A watch that waits for something that will not come, when the connection is reset. */
static void reset_beside(unsigned interest)
{
    struct heard reader = {0}, writer = {0};
    check_case();
    watched_begin();
    struct pair pair = new_connection();
    pair_fill(pair.fd);
    if (interest & EVENT_READ)
        watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
    if (interest & EVENT_WRITE)
        watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    watched_turns();
    reader = writer = (struct heard){0};
    reset(pair);
    watched_turn();
    heard_expect_calls(&reader, (interest & EVENT_READ) != 0, pair.fd, EVENT_READ, BOTH);
    heard_expect_calls(&writer, (interest & EVENT_WRITE) != 0, pair.fd, EVENT_WRITE, BOTH);
    watched_end();
    close(pair.fd);
}

static void resets(void)
{
    reset_beside(EVENT_READ);
    reset_beside(EVENT_WRITE);
    reset_beside(EVENT_READ | EVENT_WRITE);
}

/* A pipe whose other end is closed: an error for the writer, a hang-up for the reader. */
static void pipes(void)
{
    struct heard reader = {0}, writer = {0};
    int in[2], out[2];
    watched_begin();
    if (pipe(in) != 0 || pipe(out) != 0)
        check_impossible("pipe: %s", strerror(errno));
    pair_set_nonblocking(in[0]);
    pair_set_nonblocking(out[1]);
    pair_fill(out[1]);
    watched_add(in[0], EVENT_READ, heard_on_event, &reader);
    watched_add(out[1], EVENT_WRITE, heard_on_event, &writer);
    watched_turns();
    heard_expect_calls(&writer, 0, out[1], EVENT_WRITE, BOTH);
    check_step("closes the other end of the pipes, %d and %d", in[0], out[1]);
    close(in[1]);
    close(out[0]);
    watched_turn();
    heard_expect_calls(&reader, 1, in[0], EVENT_READ, BOTH);
    heard_expect_calls(&writer, 1, out[1], EVENT_WRITE, BOTH);
    close(in[0]);
    close(out[1]);
    watched_end();
}

/* The end of the input */

/* Bytes, and a FIN right after them: after this nothing more is reported. `told`: by a backend that
 * reports the FIN. */
static void half_close(void)
{
    watched_begin();
    bool told = check_number("told");
    struct heard reader = {0};
    for (int bytes = 0; bytes <= 1; bytes++) {
        struct pair pair = pair_new(3);
        watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
        watched_turn();
        heard_expect_calls(&reader, 0, pair.fd, EVENT_READ, ENDED);
        if (bytes)
            pair_make_readable(pair);
        check_step("half-closes the peer of descriptor %d", pair.fd);
        shutdown(pair.peer, SHUT_WR);
        watched_turn();
        unsigned what = reader.what;
        heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, ENDED);
        CHECK(!told || what & EVENT_HANGUP, ENDED,
              "the peer half-closed, but the callback got %s without EVENT_HANGUP",
              watched_names_of(what));
        CHECK(!(what & EVENT_CANCELLED), ENDED, "the callback got %s", watched_names_of(what));
        watched_del(pair.fd, EVENT_READ);
    }
    watched_end();
}

/* A callback that takes nothing. */
static void on_look(struct events *e, int fd, unsigned what, void *context)
{
    heard_note(context, fd, what);
}

/* Input that came while it was not watched, or was not read, is reported to a later watch. */
static void came_before(void)
{
    struct heard reader = {0}, writer = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    pair_make_readable(pair);
    watched_add(pair.fd, EVENT_READ, on_look, &reader);
    watched_turn();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, EDGE);
    watched_del(pair.fd, EVENT_READ);
    watched_turn();
    watched_add(pair.fd, EVENT_READ, on_look, &reader);
    watched_turn();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, EDGE);
    watched_del(pair.fd, EVENT_READ);
    watched_add(pair.fd, EVENT_WRITE, on_look, &writer);
    watched_turn();
    heard_expect_calls(&writer, 1, pair.fd, EVENT_WRITE, EDGE);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
    watched_turn();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, EDGE);
    watched_del(pair.fd, EVENT_WRITE);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, EDGE);
    watched_end();
}

/* Both events of a descriptor, added one after the other, are watched together. */
static void both_events(void)
{
    struct heard reader = {0}, writer = {0};
    watched_begin();
    struct pair pair = pair_new(3);
    pair_fill(pair.fd);
    watched_add(pair.fd, EVENT_READ, heard_on_event, &reader);
    watched_add(pair.fd, EVENT_WRITE, heard_on_event, &writer);
    watched_turns();
    heard_expect_calls(&writer, 0, pair.fd, EVENT_WRITE, EDGE);
    pair_make_readable(pair);
    watched_turn();
    heard_expect_calls(&reader, 1, pair.fd, EVENT_READ, EDGE);
    check_step("reads what descriptor %d has written", pair.fd);
    pair_read_all(pair.peer);
    watched_turn();
    heard_expect_calls(&writer, 1, pair.fd, EVENT_WRITE, EDGE);
    watched_end();
}

/* More are ready than a backend may report at once. */
static void many_descriptors(void)
{
    static struct heard heard[COUNT];
    static struct pair pairs[COUNT];
    watched_begin();
    for (int i = 0; i < COUNT; i++) {
        pairs[i] = pair_new(3);
        watched_add(pairs[i].fd, EVENT_READ, heard_on_event, &heard[i]);
    }
    check_case();
    check_step("makes %d descriptors readable", COUNT);
    for (int i = 0; i < COUNT; i++)
        if (write(pairs[i].peer, "x", 1) != 1)
            check_impossible("write: %s", strerror(errno));
    watched_turns();
    for (int i = 0; i < COUNT; i++)
        heard_expect_calls(&heard[i], 1, pairs[i].fd, EVENT_READ, EDGE);
    watched_end();
}

const struct check checks[] = {
    {"resets", resets},
    {"pipes", pipes},
    {"half_close", half_close},
    {"came_before", came_before},
    {"both_events", both_events},
    {"many_descriptors", many_descriptors},
    {0},
};

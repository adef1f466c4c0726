/* Coroutines that connect.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "co_io_case.h"

#define CONNECT "co-connect"

enum {
    AT_ONCE = 5,      /* coroutines that connect at the same time */
    FILLERS_MAX = 20, /* connections that fill a backlog of 1 */
    LOOKS = 2000,
    LOOK_NS = 1000 * 1000,
    FILL_NS = 50 * 1000 * 1000 /* after that long, a connection on loopback is not answered */
};

/* A coroutine that connects once. */
struct caller {
    struct co_socket socket;
    struct sockaddr_in address;
    struct coroutine *co;
    enum io_result result;
    int error; /* errno, when it returned */
    bool over;
};

static void connect_once(void *argument)
{
    struct caller *c = argument;
    c->result = co_connect(&c->socket, &c->address);
    c->error = errno;
    c->over = true;
}

static int new_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        check_impossible("socket: %s", strerror(errno));
    return fd;
}

/* A socket on a port of its own. It listens, unless `backlog` is negative. */
static int bind_somewhere(struct sockaddr_in *address, int backlog)
{
    socklen_t size = sizeof *address;
    int fd = new_socket();
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0 ||
        (backlog >= 0 && listen(fd, backlog) != 0))
        check_impossible("cannot bind or listen: %s", strerror(errno));
    return fd;
}

static void begin_connecting(struct caller *c, const struct sockaddr_in *address, const char *whom)
{
    int fd = new_socket();
    *c = (struct caller){.address = *address};
    pair_set_nonblocking(fd);
    co_socket_init(&c->socket, fd, co_io_case_events);
    check_step("has a coroutine call co_connect() to %s", whom);
    c->co = co_case_start("connects", connect_once, c);
}

static void end_connecting(struct caller *c)
{
    co_forget(&c->socket);
    close(c->socket.fd);
}

/* Makes turns of the loop until the call is over. */
static void expect_result(struct caller *c, enum io_result due)
{
    for (int i = 0; i < LOOKS && !c->over; i++) {
        struct timespec pause = {.tv_nsec = LOOK_NS};
        co_io_case_turn();
        if (!co_is_ready(co_case_scheduler))
            nanosleep(&pause, NULL);
    }
    CHECK(c->over, CONNECT, "a coroutine still waits in co_connect(); %s is due",
          co_io_case_result_name(due));
    CHECK(c->result == due, CONNECT, "co_connect() returned %s; due is %s",
          co_io_case_result_name(c->result), co_io_case_result_name(due));
}

static void expect_error(struct caller *c, int due)
{
    expect_result(c, IO_ERROR);
    CHECK(c->error == due, CONNECT,
          "co_connect() returned IO_ERROR with errno %d (%s); due is %d (%s)", c->error,
          strerror(c->error), due, strerror(due));
}

/* What one end sends arrives at the other one. */
static void expect_connected(const struct caller *c, int listen_fd)
{
    char byte = 'x', came = 0;
    int fd = accept(listen_fd, NULL, NULL);
    CHECK(fd >= 0, CONNECT, "co_connect() returned IO_OK, but no connection arrived");
    CHECK(send(c->socket.fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &came, 1, 0) == 1, CONNECT,
          "co_connect() returned IO_OK, but a byte sent on that socket does not arrive");
    close(fd);
}

static void to_a_listener(void)
{
    struct sockaddr_in address;
    struct caller c;
    co_io_case_begin();
    int listener = bind_somewhere(&address, AT_ONCE);
    begin_connecting(&c, &address, "a socket that listens");
    expect_result(&c, IO_OK);
    expect_connected(&c, listener);
    end_connecting(&c);
    close(listener);
    co_io_case_end();
}

static void to_nobody(void)
{
    struct sockaddr_in address;
    struct caller c;
    co_io_case_begin();
    int bound = bind_somewhere(&address, -1);
    begin_connecting(&c, &address, "a port without a listener");
    expect_error(&c, ECONNREFUSED);
    end_connecting(&c);
    close(bound);
    co_io_case_end();
}

/* TCP has no broadcast: connect() fails at once. */
static void to_everybody(void)
{
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct caller c;
    int fd = new_socket();
    all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    pair_set_nonblocking(fd);
    int due = connect(fd, (struct sockaddr *)&all, sizeof all) == 0 ? EINPROGRESS : errno;
    close(fd);
    if (due == EINPROGRESS)
        return; /* another kernel, which refuses it later or never */
    co_io_case_begin();
    begin_connecting(&c, &all, "255.255.255.255");
    expect_error(&c, due);
    end_connecting(&c);
    co_io_case_end();
}

static void connects(void)
{
    to_a_listener();
    to_nobody();
    to_everybody();
}

/* No answer: the backlog of a listener is full, so the kernel drops the first packet of others. */

struct deaf {
    int listener;
    struct sockaddr_in address;
    int fillers[FILLERS_MAX];
    int count;
};

static bool is_connected(int fd)
{
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    struct timespec pause = {.tv_nsec = LOOK_NS};
    for (int64_t waited = 0; waited < FILL_NS; waited += LOOK_NS) {
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void begin_deaf(struct deaf *d)
{
    *d = (struct deaf){0};
    d->listener = bind_somewhere(&d->address, 1);
    bool connected = true;
    while (connected && d->count < FILLERS_MAX) {
        int fd = new_socket();
        pair_set_nonblocking(fd);
        d->fillers[d->count++] = fd;
        connect(fd, (struct sockaddr *)&d->address, sizeof d->address);
        connected = is_connected(fd);
    }
    if (connected)
        check_impossible("a backlog of 1 is not full with %d connections", d->count);
}

static void end_deaf(struct deaf *d)
{
    while (d->count > 0)
        close(d->fillers[--d->count]);
    close(d->listener);
}

static void never_answered(void)
{
    struct caller c;
    struct deaf deaf;
    co_io_case_begin();
    begin_deaf(&deaf);
    begin_connecting(&c, &deaf.address, "a socket that never answers");
    co_io_case_settle(CONNECT);
    CHECK(!c.over, CONNECT, "no answer came, but co_connect() returned %s",
          co_io_case_result_name(c.result));
    check_step("calls co_wake()");
    co_wake(c.co);
    co_io_case_settle(CONNECT);
    CHECK(!c.over, CONNECT,
          "co_wake() was called before any answer came, and co_connect() returned %s",
          co_io_case_result_name(c.result));
    check_step("calls co_cancel()");
    co_cancel(c.co);
    co_io_case_settle(CONNECT);
    CHECK(c.over, CONNECT, "co_cancel() was called, but co_connect() still waits");
    CHECK(c.result == IO_CANCELLED, CONNECT,
          "co_cancel() was called, and co_connect() returned %s; IO_CANCELLED is due",
          co_io_case_result_name(c.result));
    end_connecting(&c);
    end_deaf(&deaf);
    co_io_case_end();
}

/* One coroutine waits for an answer that does not come. Meanwhile the others connect. */
static void at_once(void)
{
    static struct caller callers[AT_ONCE];
    struct caller stuck;
    struct deaf deaf;
    struct sockaddr_in address;
    co_io_case_begin();
    begin_deaf(&deaf);
    int listener = bind_somewhere(&address, AT_ONCE);
    begin_connecting(&stuck, &deaf.address, "a socket that never answers");
    for (int i = 0; i < AT_ONCE; i++)
        begin_connecting(&callers[i], &address, "a socket that listens");
    for (int i = 0; i < AT_ONCE; i++)
        expect_result(&callers[i], IO_OK);
    for (int i = 0; i < AT_ONCE; i++)
        expect_connected(&callers[i], listener);
    CHECK(!stuck.over, CONNECT, "no answer came, but co_connect() returned %s",
          co_io_case_result_name(stuck.result));
    check_step("calls co_forget() for the socket that is not connected");
    co_forget(&stuck.socket);
    expect_result(&stuck, IO_CANCELLED);
    end_connecting(&stuck);
    for (int i = 0; i < AT_ONCE; i++)
        end_connecting(&callers[i]);
    close(listener);
    end_deaf(&deaf);
    co_io_case_end();
}

static void waits(void)
{
    never_answered();
    at_once();
}

const struct check checks[] = {
    {"connects", connects},
    {"waits", waits},
    {0},
};

/* Coroutines that wait for clients, and coroutines that connect.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co_calls.h"

#define ACCEPT  "co-accept"
#define CONNECT "co-connect"

enum {
    AT_ONCE = 5,      /* coroutines that connect at the same time */
    FILLERS_MAX = 20, /* connections that fill a backlog of 1 */
    LOOKS = 200,
    FILL_MS = 50 /* after that long, a connection on loopback is not answered */
};

/* Accepting */

static int descriptors_left = INT_MAX;

/* Replaces that of the C library, to simulate the lack of a descriptor: under valgrind a real lack
 * would lose the client. */
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (descriptors_left == 0) {
        errno = EMFILE;
        return -1;
    }
    int client = (int)syscall(SYS_accept4, fd, address, size, flags);
    descriptors_left -= client >= 0;
    return client;
}

/* The same without flags. */
int accept(int fd, struct sockaddr *address, socklen_t *size)
{
    return accept4(fd, address, size, 0);
}

static void accepts(void)
{
    clients_in_groups(ACCEPT);
}

/* Clients wait, and there are `left` descriptors for them, which is not enough; later there are
 * some, and no other client comes. */
static void no_descriptor(int left)
{
    struct acceptor a;
    acceptor_begin(&a, ACCEPT, MOST);
    check_step("has descriptors for %d clients", left);
    descriptors_left = left;
    acceptor_connect(&a, left + 1);
    RUN_UNTIL(a.full > 0, LOOKS);
    descriptors_left = INT_MAX;
    EXPECT(a.count == left, "there were descriptors for %d clients, but %d were accepted", left,
           a.count);
    EXPECT(a.full == 1, "co_accept() did not return NET_FULL");
    check_step("has free descriptors again");
    co_wake(a.co);
    acceptor_expect(&a, left + 1);
    acceptor_end(&a);
}

static void clients(void)
{
    accepts();
    no_descriptor(0);
    no_descriptor(2);
    no_descriptor(MOST);
}

/* Connecting */

/* A socket on a port of its own. It listens, unless `backlog` is negative. */
static int bind_somewhere(struct sockaddr_in *address, int backlog)
{
    socklen_t size = sizeof *address;
    int fd = new_tcp_socket(false);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0 ||
        (backlog >= 0 && listen(fd, backlog) != 0))
        check_impossible("cannot bind or listen: %s", strerror(errno));
    return fd;
}

/* What one end sends arrives at the other one. */
static void expect_connected(const struct caller *c, int listen_fd)
{
    char byte = 'x', came = 0;
    int fd = accept(listen_fd, NULL, NULL);
    EXPECT(fd >= 0, "co_connect() returned IO_OK, but no connection arrived");
    EXPECT(send(c->socket.watch.fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(fd, &came, 1, 0) == 1,
           "co_connect() returned IO_OK, but a byte sent on that socket does not arrive");
    close(fd);
}

static void to_a_listener(void)
{
    struct sockaddr_in address;
    struct caller c;
    co_io_case_begin(CONNECT);
    int listener = bind_somewhere(&address, AT_ONCE);
    caller_begin(&c, &address, " to a socket that listens");
    caller_expect(&c, IO_OK);
    expect_connected(&c, listener);
    caller_end(&c);
    close(listener);
    co_io_case_end();
}

static void to_nobody(void)
{
    struct sockaddr_in address;
    struct caller c;
    co_io_case_begin(CONNECT);
    int bound = bind_somewhere(&address, -1);
    caller_begin(&c, &address, " to a port without a listener");
    caller_expect_error(&c, ECONNREFUSED);
    caller_end(&c);
    close(bound);
    co_io_case_end();
}

/* TCP has no broadcast: connect() fails at once. */
static void to_everybody(void)
{
    struct sockaddr_in all = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct caller c;
    int fd = new_tcp_socket(true);
    all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    int due = connect(fd, (struct sockaddr *)&all, sizeof all) == 0 ? EINPROGRESS : errno;
    close(fd);
    if (due == EINPROGRESS)
        return; /* another kernel, which refuses it later or never */
    co_io_case_begin(CONNECT);
    caller_begin(&c, &all, " to 255.255.255.255");
    caller_expect_error(&c, due);
    caller_end(&c);
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
    for (int ms = 0; ms < FILL_MS; ms++) {
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0)
            return true;
        check_pause(1);
    }
    return false;
}

static void begin_deaf(struct deaf *d)
{
    *d = (struct deaf){0};
    d->listener = bind_somewhere(&d->address, 1);
    bool connected = true;
    while (connected && d->count < FILLERS_MAX) {
        int fd = new_tcp_socket(true);
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
    co_io_case_begin(CONNECT);
    begin_deaf(&deaf);
    caller_begin(&c, &deaf.address, " to a socket that never answers");
    caller_expect_waiting(&c);
    check_step("calls co_wake()");
    co_wake(c.co);
    caller_expect_waiting(&c);
    check_step("calls co_cancel()");
    co_cancel(c.co);
    caller_expect(&c, IO_CANCELLED);
    caller_end(&c);
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
    co_io_case_begin(CONNECT);
    begin_deaf(&deaf);
    int listener = bind_somewhere(&address, AT_ONCE);
    caller_begin(&stuck, &deaf.address, " to a socket that never answers");
    for (int i = 0; i < AT_ONCE; i++)
        caller_begin(&callers[i], &address, " to a socket that listens");
    for (int i = 0; i < AT_ONCE; i++)
        caller_expect(&callers[i], IO_OK);
    for (int i = 0; i < AT_ONCE; i++)
        expect_connected(&callers[i], listener);
    caller_expect_waiting(&stuck);
    check_step("calls co_forget() for the socket that is not connected");
    co_forget(&stuck.socket);
    caller_expect(&stuck, IO_CANCELLED);
    caller_end(&stuck);
    for (int i = 0; i < AT_ONCE; i++)
        caller_end(&callers[i]);
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
    {"clients", clients},
    /* without accept(), which no_descriptor() replaces: */
    {"accepts", accepts},
    {"connects", connects},
    {"waits", waits},
    {0},
};

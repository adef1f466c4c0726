/* Coroutines that read, write, wait for nothing, accept and connect. The checks are about the end of
 * each wait, the memory that a waiting coroutine owns, and the bytes at the other end.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co_io_case.h"
#include "connection.h"

#define READINESS "co-readiness"
#define READ      "co-read"
#define WRITE     "co-write"
#define WAIT      "co-wait"
#define DEAF      "co-deaf"
#define ACCEPT    "co-accept"
#define CONNECT   "co-connect"

enum {
    ROUNDS = 3,
    WAIT_MS = 40,
    MUCH_BYTES = 2 << 20, /* more than the kernel takes while the peer does not read */
    PARTS = 5,
    MOST = 10000, /* bytes of one part */
    FULL_MS = 5000,
    SECOND_MS = 1000
};

static void begin(struct party *p, const char *hint)
{
    co_io_case_begin(hint);
    party_begin(p, pair_new(3));
}

/* Readiness */

/* Readiness wakes only a coroutine that waits for it; if none waits, it is kept. */
static void readiness(void)
{
    struct party p, other;
    begin(&p, READINESS);
    party_begin(&other, pair_new(3));
    party_ask(&other, READS);
    party_ask(&p, READS);
    party_expect_waiting(&p);
    party_gets(&p, "first");
    int before = p.wakes;
    pair_send_text(p.pair, "later");
    co_io_case_settle();
    EXPECT(p.wakes == before, "a ready socket woke a coroutine that does not wait for it");
    watched_expect_interest(p.pair.fd, 0, READINESS);
    party_ask(&p, READS);
    party_expect_text(&p, "later");
    party_ask(&p, READS);
    party_expect_waiting(&p);
    party_expect_waiting(&other);
    party_gets(&other, "input");
    party_end(&other);
    party_end_all(&p);
}

/* How a wait ends, and its result */

/* A listener whose backlog is full: the kernel drops the first packet of other clients. */
static int bind_deaf(struct sockaddr_in *address, int *filler)
{
    struct sockaddr_in own;
    int listener = bind_somewhere(address, 0);
    struct pollfd full = {.fd = listener, .events = POLLIN};
    *filler = bind_somewhere(&own, -1);
    if (connect(*filler, (struct sockaddr *)address, sizeof *address) != 0 ||
        poll(&full, 1, FULL_MS) != 1)
        check_impossible("a backlog of 0 does not get full: %s", strerror(errno));
    return listener;
}

static const char *const hints[] = {
    [READS] = READINESS, [WRITES] = WRITE, [WAITS] = WAIT, [CONNECTS] = CONNECT};

/* A coroutine whose wait is ended by nothing else. It has read before: then its first try is
 * over. */
static void begin_waiting(struct party *p, enum does does, int timeout_ms)
{
    begin(p, hints[does]);
    if (does != WRITES) {
        party_ask(p, READS);
        party_gets(p, "first");
    }
    if (does == WRITES)
        party_queue(p, MUCH_BYTES);
    p->most = does == WRITES ? MOST : ROOM;
    p->repeats = does == WRITES;
    p->timeout_ms = timeout_ms;
    party_ask(p, does);
    party_expect_waiting(p);
}

static void in_time(enum does does)
{
    struct party p;
    begin_waiting(&p, does, WAIT_MS);
    fake_clock_advance(WAIT_MS * MS - 1);
    co_io_case_settle();
    party_expect_waiting(&p);
    fake_clock_advance(1);
    co_io_case_settle();
    party_expect_result(&p, IO_LATE);
    party_ask(&p, READS);
    fake_clock_advance(WAIT_MS * MS - 1);
    party_gets(&p, "in time");
    EXPECT(timers_timeout(co_case_timers) == -1,
           "no coroutine waits for a deadline, but a timer is set");
    party_end_all(&p);
}

static void woken(enum does does)
{
    struct party p;
    begin_waiting(&p, does, -1);
    party_stop(&p);
    party_ask(&p, READS);
    party_gets(&p, "input");
    party_end_all(&p);
}

static void is_cancelled(struct party *p, bool by_forgetting)
{
    check_step("calls %s", by_forgetting ? "co_forget()" : "co_cancel()");
    p->ends = true;
    if (by_forgetting)
        co_forget(&p->socket);
    else
        co_cancel(p->co);
    co_io_case_settle();
    party_expect_result(p, IO_CANCELLED);
    EXPECT(p->co == NULL, "the coroutine was cancelled, but has not finished");
    party_end(p);
    watched_expect_interest(p->pair.fd, 0, co_io_case_hint);
}

static void cancelled(enum does does)
{
    struct party p;
    for (int by_forgetting = 0; by_forgetting < 2; by_forgetting++) {
        begin_waiting(&p, does, -1);
        is_cancelled(&p, by_forgetting);
        co_io_case_end();
    }
}

static void each_end(enum does does)
{
    in_time(does);
    woken(does);
    cancelled(does);
}

static void ends(void)
{
    each_end(READS);
}

static void waits(void)
{
    each_end(WAITS);
}

/* A connection that is not answered. Other coroutines run, and connect. */
static void unanswered(void)
{
    struct party p, other;
    struct sockaddr_in address, deaf;
    int filler;
    co_io_case_begin(CONNECT);
    int listener = bind_somewhere(&address, 1), full = bind_deaf(&deaf, &filler);
    party_connects(&p, &deaf);
    party_connects(&other, &address);
    party_expect_result(&other, IO_OK);
    party_end(&other);
    check_step("calls co_wake()");
    co_wake(p.co);
    co_io_case_settle();
    party_expect_waiting(&p);
    is_cancelled(&p, false);
    close(listener);
    close(full);
    close(filler);
    co_io_case_end();
}

/* Reading */

static void owns(void)
{
    struct party p;
    begin(&p, READ);
    for (int round = 0; round < ROUNDS; round++) {
        party_ask(&p, READS);
        party_expect_waiting(&p);
        if (round > 0)
            EXPECT(p.in.block == NULL,
                   "while co_read() waits, a buffer that was empty owns %zu bytes",
                   p.in.block->cap);
        int before = p.in_vain;
        party_gets(&p, "input");
        EXPECT(p.in_vain == before, "the socket was ready, but co_read() returned IO_AGAIN");
    }
    EXPECT(p.in_vain <= 1, "each of %d reads took everything, but co_read() made one more in vain",
           ROUNDS);
    party_end_all(&p);
}

/* So many bytes come at once, with the end of the input or without. */
static void all_that_comes(size_t size, bool eof)
{
    struct party p;
    begin(&p, READ);
    p.repeats = true;
    party_ask(&p, READS);
    if (size > 0)
        pair_send_data(p.pair, 0, size);
    if (eof) {
        check_step("shuts down its sending side");
        shutdown(p.pair.peer, SHUT_WR);
    }
    co_io_case_settle();
    if (eof)
        party_expect_result(&p, IO_EOF);
    else
        party_expect_waiting(&p);
    EXPECT(p.moved == size, "%zu bytes were sent, but co_read() has read %zu", size, p.moved);
    party_end_all(&p);
}

static void to_the_end(void)
{
    static const size_t sizes[] = {0, 5, ROOM, 3 * ROOM + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int eof = 0; eof < 2; eof++)
            all_that_comes(sizes[i], eof);
}

/* Bytes that can be moved at once are moved without a wait, a part in each iteration: the others
 * get their turn. */
static void part_by_part(struct party *p, enum does does)
{
    p->most = MOST;
    p->repeats = true;
    party_call(p, does);
    for (int i = 1; i <= PARTS; i++) {
        co_io_case_turn();
        EXPECT(p->calls <= i,
               "in %d iterations a coroutine moved bytes %d times, while the others waited", i,
               p->calls);
    }
    co_io_case_settle();
    EXPECT(p->moved == PARTS * MOST, "nothing hinders it, but only %zu of %d bytes were moved",
           p->moved, PARTS * MOST);
}

static void in_turns(void)
{
    struct party p;
    begin(&p, READ);
    pair_send_data(p.pair, 0, PARTS * MOST);
    part_by_part(&p, READS);
    party_end_all(&p);
}

/* Writing */

static void at_once(void)
{
    struct party p;
    begin(&p, WRITE);
    party_queue(&p, PARTS * MOST);
    part_by_part(&p, WRITES);
    party_expect_arrived(&p);
    party_end_all(&p);
}

static void when_the_peer_reads(void)
{
    struct party p;
    begin_waiting(&p, WRITES, -1);
    while (p.taken < MUCH_BYTES) {
        check_step("reads at the peer what has arrived");
        EXPECT(party_take(&p) > 0,
               "the peer has read everything, but no more is sent: %zu of %d bytes have come",
               p.taken, MUCH_BYTES);
        co_io_case_settle();
    }
    party_expect_result(&p, IO_OK);
    party_end_all(&p);
}

static void writes(void)
{
    at_once();
    when_the_peer_reads();
    cancelled(WRITES);
}

/* A reset, which ends a wait for nothing: input and the end of the input do not. */

static void reset_after(bool reads, bool input, bool eof)
{
    struct party p;
    co_io_case_begin(DEAF);
    party_begin(&p, connection_new());
    if (reads) {
        party_ask(&p, READS);
        party_gets(&p, "first");
    }
    party_ask(&p, WAITS);
    if (input)
        pair_send_text(p.pair, "more");
    if (eof) {
        check_step("shuts down the sending side of the peer");
        shutdown(p.pair.peer, SHUT_WR);
    }
    co_io_case_settle();
    party_expect_waiting(&p);
    EXPECT(!co_is_broken(&p.socket),
           "the peer has not reset the connection, but co_is_broken() returned true");
    connection_reset(p.pair);
    fake_clock_advance(SECOND_MS * MS); /* one backend looks once a second */
    party_expect_result(&p, IO_ERROR);
    EXPECT(p.error == ECONNRESET || p.error == EPIPE, /* EPIPE after EOF, on Linux */
           "the peer has reset the connection; co_wait() returned IO_ERROR, with errno %d (%s)",
           p.error, strerror(p.error));
    EXPECT(co_is_broken(&p.socket),
           "the peer has reset the connection, but co_is_broken() returned false");
    party_end(&p);
    close(p.pair.fd);
    co_io_case_end();
}

static void hears(void)
{
    for (int cases = 0; cases < 8; cases++)
        reset_after(cases & 1, cases & 2, cases & 4);
}

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

/* Clients come one by one and together. */
static void accepts(void)
{
    static const int groups[] = {1, 3, 1, BATCH + 1};
    struct party p;
    co_io_case_begin(ACCEPT);
    party_accepts(&p);
    for (int i = 0; i < 4; i++) {
        party_meets(&p, groups[i]);
        party_expect_clients(&p);
    }
    EXPECT(p.batch > 1, "clients waited together, but co_accept() never returned more than one");
    party_stop(&p);
    party_end_all(&p);
}

/* Clients wait, and there are `left` descriptors for them, which is not enough; later there are
 * some, and no other client comes. */
static void no_descriptor(int left)
{
    struct party p;
    co_io_case_begin(ACCEPT);
    party_accepts(&p);
    check_step("has descriptors for %d clients", left);
    descriptors_left = left;
    party_meets(&p, left + 1);
    party_expect_result(&p, IO_ERROR);
    descriptors_left = INT_MAX;
    EXPECT(p.clients == left, "there were descriptors for %d clients, but %d were accepted", left,
           p.clients);
    check_step("has free descriptors again");
    party_ask(&p, ACCEPTS);
    party_expect_clients(&p);
    party_end_all(&p);
}

static void clients(void)
{
    accepts();
    no_descriptor(0);
    no_descriptor(2);
    no_descriptor(BATCH);
}

/* Connecting */

static void in_vain(const struct sockaddr_in *address, int error)
{
    struct party p;
    co_io_case_begin(CONNECT);
    party_connects(&p, address);
    party_expect_error(&p, error);
    party_end_all(&p);
}

static void connects(void)
{
    struct party server, p;
    struct sockaddr_in address;
    co_io_case_begin(CONNECT);
    party_accepts(&server);
    party_connects(&p, &server.address);
    party_expect_result(&p, IO_OK);
    party_end(&p);
    party_end_all(&server);
    int bound = bind_somewhere(&address, -1); /* a port without a listener */
    in_vain(&address, ECONNREFUSED);
    /* TCP has no broadcast: connect() fails at once, with an errno of its own. */
    address.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    if (connect(bound, (struct sockaddr *)&address, sizeof address) != 0)
        in_vain(&address, errno);
    close(bound);
}

const struct check checks[] = {
    {"readiness", readiness},
    {"ends", ends},
    {"waits", waits},
    {"owns", owns},
    {"to_the_end", to_the_end},
    {"in_turns", in_turns},
    {"writes", writes},
    {"hears", hears},
    {"clients", clients},
    /* without accept(), which no_descriptor() replaces: */
    {"accepts", accepts},
    {"connects", connects},
    {"unanswered", unanswered},
    {0},
};

/* Coroutines that read and write nothing meanwhile: what ends their wait, and a reset above all.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_io_case.h"
#include "connection.h"

#define WAITS "co-wait"
#define DEAF  "co-deaf"

enum { WAIT_MS = 40, LOOKS = 200, SECOND_MS = 1000 };

/* A coroutine that reads something first, if it is to, and then calls co_wait() once; with a ring
 * it may have to call it again. */
struct idler {
    struct pair pair; /* a TCP connection */
    struct co_socket socket;
    struct coroutine *co;
    bool reads;
    int timeout_ms;
    bool woken; /* IO_AGAIN is what it expects */
    int in_vain;
    enum io_result result;
    int error; /* errno then */
    bool over;
};

static void read_once(struct idler *i)
{
    struct buffer in = {0};
    size_t moved = 0;
    while (co_read(&i->socket, &in, ROOM, &moved, -1) == IO_AGAIN)
        continue;
    buffer_free(&in);
}

static void be_idle(void *argument)
{
    struct idler *i = argument;
    if (i->reads)
        read_once(i);
    do {
        i->result = co_wait(&i->socket, i->timeout_ms);
        i->error = errno;
        i->in_vain += i->result == IO_AGAIN;
        CHECK(i->in_vain <= IN_VAIN_MAX, WAITS,
              "co_wait() returned %d times with IO_AGAIN, but co_wake() was not called",
              i->in_vain);
    } while (i->result == IO_AGAIN && !i->woken);
    i->over = true;
}

static void begin_idler(struct idler *i, bool reads, int timeout_ms)
{
    co_io_case_begin();
    *i = (struct idler){.pair = connection_new(), .reads = reads, .timeout_ms = timeout_ms};
    co_socket_init(&i->socket, i->pair.fd, watched_events);
    check_step("has a coroutine call %sco_wait()", reads ? "co_read(), and then " : "");
    i->co = co_case_start("idle", be_idle, i);
    co_io_case_settle(WAITS);
    if (reads)
        pair_send_text(i->pair, "first");
    co_io_case_settle(WAITS);
}

static void forget(void *argument)
{
    struct idler *i = argument;
    co_forget(&i->socket);
}

static void end_idler(struct idler *i)
{
    co_case_start("forgets", forget, i); /* may wait for what is in flight */
    co_io_case_settle(WAITS);
    close(i->pair.fd);
    spare_free(); /* the block that is kept for the next buffer */
    co_io_case_end();
}

static void expect_waiting(const struct idler *i, const char *hint)
{
    CHECK(!i->over, hint, "co_wait() returned %s, but nothing had happened that ends this wait",
          co_io_case_result_name(i->result));
}

static void expect_result(const struct idler *i, enum io_result due, const char *hint)
{
    for (int look = 0; look < LOOKS && !i->over; look++) {
        co_io_case_settle(hint);
        check_pause(1);
    }
    CHECK(i->over, hint, "a coroutine still waits in co_wait(), but %s is due",
          co_io_case_result_name(due));
    CHECK(i->result == due, hint, "co_wait() returned %s; due is %s",
          co_io_case_result_name(i->result), co_io_case_result_name(due));
}

/* Ends that have nothing to do with the peer */

static void woken(bool reads)
{
    struct idler i;
    begin_idler(&i, reads, -1);
    expect_waiting(&i, WAITS);
    check_step("calls co_wake()");
    i.woken = true;
    co_wake(i.co);
    expect_result(&i, IO_AGAIN, WAITS);
    close(i.pair.peer);
    end_idler(&i);
}

static void late(void)
{
    struct idler i;
    begin_idler(&i, false, WAIT_MS);
    fake_clock_advance(WAIT_MS * MS - 1);
    co_io_case_settle(WAITS);
    expect_waiting(&i, WAITS);
    fake_clock_advance(1);
    expect_result(&i, IO_LATE, WAITS);
    close(i.pair.peer);
    end_idler(&i);
}

static void cancelled(bool by_forget)
{
    struct idler i;
    begin_idler(&i, false, -1);
    check_step("calls %s", by_forget ? "co_forget()" : "co_cancel()");
    if (by_forget)
        co_forget(&i.socket);
    else
        co_cancel(i.co);
    expect_result(&i, IO_CANCELLED, WAITS);
    close(i.pair.peer);
    end_idler(&i);
}

static void waits(void)
{
    woken(false);
    woken(true);
    late();
    cancelled(false);
    cancelled(true);
}

/* What the peer does */

static void expect_reset(struct idler *i)
{
    fake_clock_advance(SECOND_MS * MS); /* one backend looks once a second */
    expect_result(i, IO_ERROR, DEAF);
    CHECK(i->error == ECONNRESET || i->error == EPIPE, DEAF, /* EPIPE after EOF, on Linux */
          "the peer has reset the connection; co_wait() returned IO_ERROR, with errno %d (%s)",
          i->error, strerror(i->error));
    CHECK(co_is_broken(&i->socket), DEAF,
          "the peer has reset the connection, but co_is_broken() returned false");
    end_idler(i);
}

/* Input and the end of the input are not what it waits for. */
static void reset_after(bool reads, bool input, bool end)
{
    struct idler i;
    begin_idler(&i, reads, -1);
    if (input)
        pair_send_text(i.pair, "more");
    if (end) {
        check_step("shuts down the sending side of the peer");
        shutdown(i.pair.peer, SHUT_WR);
    }
    co_io_case_settle(DEAF);
    expect_waiting(&i, DEAF);
    CHECK(!co_is_broken(&i.socket), DEAF,
          "the peer has not reset the connection, but co_is_broken() returned true");
    connection_reset(i.pair);
    expect_reset(&i);
}

/* It has arrived before the coroutine waits. */
static void reset_before(void)
{
    struct idler i;
    co_io_case_begin();
    i = (struct idler){.pair = connection_new(), .timeout_ms = -1};
    co_socket_init(&i.socket, i.pair.fd, watched_events);
    connection_reset(i.pair);
    check_step("has a coroutine call co_wait()");
    i.co = co_case_start("idle", be_idle, &i);
    expect_reset(&i);
}

static void hears(void)
{
    for (int reads = 0; reads < 2; reads++) {
        reset_after(reads, false, false);
        reset_after(reads, true, false);
        reset_after(reads, false, true);
        reset_after(reads, true, true);
    }
    reset_before();
}

const struct check checks[] = {
    {"waits", waits},
    {"hears", hears},
    {0},
};

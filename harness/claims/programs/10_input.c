/* Coroutines that read: what they own meanwhile, and how they come to the end of the input.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co_reader.h"

#define READ "co-read"

enum { ROUNDS = 3, HELD_BYTES = 3, HOSE_BYTES = 64 << 10 };

/* What a buffer owns meanwhile */

static void owns_nothing(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    for (int round = 0; round < ROUNDS; round++) {
        co_reader_ask(&r);
        co_reader_expect_waiting(&r, READ);
        if (round > 0)
            CHECK(r.in.block == NULL, READ,
                  "while co_read() waits, a buffer that was empty owns %zu bytes", r.in.block->cap);
        int before = r.in_vain;
        pair_send_text(r.pair, "input");
        co_io_case_settle(READ);
        co_reader_expect_text(&r, "input", READ);
        CHECK(r.in_vain == before, READ, "the socket was ready, but co_read() returned IO_AGAIN");
    }
    CHECK(r.in_vain <= 1, READ,
          "each of %d reads took everything, but co_read() made one more in vain", ROUNDS);
    co_reader_end(&r);
    co_io_case_end();
}

/* Bytes that are there already stay in front. */
static void keeps_the_rest(void)
{
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    pair_send_text(r.pair, "abc");
    co_io_case_settle(READ);
    co_reader_expect_result(&r, IO_OK, READ);
    co_reader_ask(&r);
    co_reader_expect_waiting(&r, READ);
    CHECK(buffer_len(&r.in) == HELD_BYTES, READ,
          "while co_read() waits, %zu of %d bytes are left of what the buffer held",
          buffer_len(&r.in), HELD_BYTES);
    pair_send_text(r.pair, "def");
    co_io_case_settle(READ);
    co_reader_expect_text(&r, "abcdef", READ);
    co_reader_end(&r);
    co_io_case_end();
}

static void owns(void)
{
    owns_nothing();
    keeps_the_rest();
}

/* To the end of the input */

static void expect_bytes(struct co_reader *r, size_t due)
{
    co_reader_expect_result(r, IO_OK, READ);
    CHECK(buffer_len(&r->in) == due, READ, "co_read() read %zu bytes; due are %zu",
          buffer_len(&r->in), due);
    buffer_free(&r->in);
}

/* So many bytes come at once, with the end of the input or without. */
static void all_that_comes(size_t size, bool end)
{
    static const char zeros[4 * ROOM];
    struct co_reader r;
    co_io_case_begin();
    co_reader_begin(&r);
    co_reader_ask(&r);
    check_step("sends %zu bytes%s", size, end ? " and shuts down" : "");
    if (size > 0 && write(r.pair.peer, zeros, size) != (ssize_t)size)
        check_impossible("write: %s", strerror(errno));
    if (end)
        shutdown(r.pair.peer, SHUT_WR);
    co_io_case_settle(READ);
    for (size_t left = size; left > 0;) {
        size_t due = left < ROOM ? left : ROOM;
        expect_bytes(&r, due);
        left -= due;
        co_reader_ask(&r);
    }
    if (end) {
        co_reader_expect_result(&r, IO_EOF, READ);
    } else {
        co_reader_expect_waiting(&r, READ);
        pair_send_text(r.pair, "more");
        co_io_case_settle(READ);
        co_reader_expect_text(&r, "more", READ);
    }
    co_reader_end(&r);
    co_io_case_end();
}

static void to_the_end(void)
{
    static const size_t sizes[] = {0, 5, ROOM - 1, ROOM, ROOM + 1, 3 * ROOM, 3 * ROOM + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        all_that_comes(sizes[i], true);
        if (sizes[i] > 0)
            all_that_comes(sizes[i], false);
    }
}

/* In turns */

struct hose {
    struct co_socket socket;
    size_t bytes;
    int reads;
    bool stops;
};

static void read_all_the_time(void *argument)
{
    struct hose *h = argument;
    struct buffer in = {0};
    while (!h->stops) {
        size_t moved = 0;
        co_read(&h->socket, &in, ROOM, &moved, -1);
        h->reads++;
        h->bytes += moved;
        buffer_free(&in);
    }
}

static void in_turns(void)
{
    static const char zeros[HOSE_BYTES];
    struct hose hose = {0};
    co_io_case_begin();
    struct pair pair = pair_new(3);
    check_step("sends %d bytes; a coroutine reads them %d at a time", HOSE_BYTES, ROOM);
    if (write(pair.peer, zeros, HOSE_BYTES) != HOSE_BYTES)
        check_impossible("write: %s", strerror(errno));
    co_socket_init(&hose.socket, pair.fd, co_io_case_events);
    co_case_start("hose", read_all_the_time, &hose);
    for (int i = 0; i < RUNS; i++) {
        int before = hose.reads;
        co_io_case_turn();
        CHECK(hose.reads - before <= 1, READ,
              "a coroutine read %d times in one iteration, while the others waited",
              hose.reads - before);
    }
    CHECK(hose.reads >= RUNS - 2, READ, "in %d iterations a coroutine read %d times", RUNS,
          hose.reads);
    hose.stops = true;
    co_forget(&hose.socket);
    co_io_case_settle(READ);
    co_io_case_end();
}

const struct check checks[] = {
    {"owns", owns},
    {"to_the_end", to_the_end},
    {"in_turns", in_turns},
    {0},
};

#include "co_io_case.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { SETTLE_TURNS = 1000 };

uint8_t co_io_data[DATA_BYTES];
const char *co_io_case_hint;

void co_io_case_begin(const char *hint)
{
    static bool filled;
    if (!filled)
        check_fill(co_io_data, sizeof co_io_data);
    filled = true;
    co_io_case_hint = hint;
    co_case_begin(STACK_BYTES);
    fake_clock_begin();
    watched_begin();
}

void co_io_case_end(void)
{
    spare_free(); /* the block that is kept for the next buffer */
    watched_end();
    co_case_end();
}

void co_io_case_turn(void)
{
    events_turn(watched_events, 0);
    timers_run(co_case_timers);
    co_run(co_case_scheduler);
}

void co_io_case_settle(void)
{
    check_step("runs iterations of the loop, until nothing more happens");
    for (int i = 0; i < RUNS; i++)
        co_io_case_turn();
    for (int i = 0; i < SETTLE_TURNS && co_is_ready(co_case_scheduler); i++)
        co_io_case_turn();
    EXPECT(!co_is_ready(co_case_scheduler),
           "nothing happens, but a coroutine is ready in each iteration of the loop: it does not "
           "wait");
}

void co_io_case_pause(void)
{
    co_io_case_turn();
    if (!co_is_ready(co_case_scheduler))
        check_pause(1);
}

const char *co_io_case_result_name(enum io_result result)
{
    static const char *const names[] = {
        [IO_OK] = "IO_OK",       [IO_AGAIN] = "IO_AGAIN", [IO_EOF] = "IO_EOF",
        [IO_ERROR] = "IO_ERROR", [IO_LATE] = "IO_LATE",   [IO_CANCELLED] = "IO_CANCELLED"};
    return (unsigned)result <= IO_CANCELLED ? names[result] : "an unknown result";
}

static void send_bytes(struct pair pair, const void *bytes, size_t size)
{
    if (write(pair.peer, bytes, size) != (ssize_t)size)
        check_impossible("write: %s", strerror(errno));
}

void pair_send_text(struct pair pair, const char *text)
{
    check_step("sends \"%s\" to descriptor %d", text, pair.fd);
    send_bytes(pair, text, strlen(text));
}

void pair_send_data(struct pair pair, size_t offset, size_t size)
{
    check_step("sends %zu bytes to descriptor %d", size, pair.fd);
    send_bytes(pair, co_io_data + offset, size);
}

/* A socket, and a coroutine that makes a call when it is asked to */

static const char *const functions[] = {
    [READS] = "co_read()", [WRITES] = "co_write()", [WAITS] = "co_wait()"};

static size_t read_some(struct party *p)
{
    size_t before = buffer_len(&p->in);
    size_t told = 1; /* co_read() writes it, and has nothing to learn from it */
    p->result = co_read(&p->socket, &p->in, p->most, &told, p->timeout_ms);
    p->error = errno;
    size_t moved = buffer_len(&p->in) - before;
    EXPECT(told == moved || p->result != IO_OK,
           "co_read() set *moved to %zu, but %zu bytes were added to the buffer", told, moved);
    if (p->repeats) {
        if (moved > 0)
            check_equal(co_io_case_hint, "the bytes of co_read()", co_io_data + p->moved, moved,
                        buffer_head(&p->in), moved);
        buffer_free(&p->in);
    }
    return moved;
}

static size_t write_some(struct party *p)
{
    size_t before = p->queued - buffer_len(&p->out); /* more may be queued meanwhile */
    p->result = co_write(&p->socket, &p->out, p->most);
    p->error = errno;
    size_t moved = p->queued - buffer_len(&p->out) - before;
    EXPECT(moved <= p->most, "co_write() removed %zu bytes from the buffer; allowed are %zu", moved,
           p->most);
    EXPECT(moved > 0 || p->result != IO_OK,
           "co_write() returned IO_OK, but has removed nothing from the buffer");
    return moved;
}

static size_t wait_for_nothing(struct party *p)
{
    p->result = co_wait(&p->socket, p->timeout_ms);
    p->error = errno;
    return 0;
}

static bool goes_on(const struct party *p)
{
    bool again = p->result == IO_AGAIN;
    if (p->repeats)
        return (again || p->result == IO_OK) && (p->does != WRITES || buffer_len(&p->out) > 0);
    return again && !p->takes_again;
}

static void make_calls(struct party *p)
{
    static size_t (*const calls[])(struct party *) = {
        [READS] = read_some, [WRITES] = write_some, [WAITS] = wait_for_nothing};
    int before = p->in_vain;
    do {
        p->moved += calls[p->does](p);
        p->calls++;
        p->in_vain += p->result == IO_AGAIN;
        EXPECT(p->in_vain - before <= IN_VAIN_MAX || p->takes_again || p->repeats,
               "%s returned %d times with IO_AGAIN, but co_wake() was not called",
               functions[p->does], p->in_vain - before);
    } while (!p->ends && goes_on(p));
    p->does = PARKS;
}

static void do_as_asked(void *argument)
{
    struct party *p = argument;
    while (!p->ends) {
        if (p->does != PARKS) {
            make_calls(p);
        } else {
            co_park(-1);
            p->wakes++;
        }
    }
    p->co = NULL;
    if (p->last != NULL)
        p->last(p);
}

void party_begin(struct party *p, struct pair pair)
{
    *p = (struct party){.pair = pair, .most = ROOM, .timeout_ms = -1};
    co_socket_init(&p->socket, p->pair.fd, watched_events);
    p->co = co_case_start("calls", do_as_asked, p);
    co_run(co_case_scheduler);
}

void party_call(struct party *p, enum does does)
{
    check_step("has a coroutine call %s%s for descriptor %d", functions[does],
               p->repeats ? ", again and again," : "", p->pair.fd);
    p->does = p->did = does;
    co_wake(p->co);
}

void party_ask(struct party *p, enum does does)
{
    party_call(p, does);
    co_io_case_settle();
}

void party_gets(struct party *p, const char *text)
{
    pair_send_text(p->pair, text);
    co_io_case_settle();
    party_expect_text(p, text);
}

void party_stop(struct party *p)
{
    check_step("calls co_wake()");
    p->takes_again = true;
    p->repeats = false;
    co_wake(p->co);
    co_io_case_settle();
    party_expect_result(p, IO_AGAIN);
    p->takes_again = false;
}

static void forget(void *argument)
{
    struct party *p = argument;
    co_forget(&p->socket);
}

void party_end(struct party *p)
{
    p->ends = true;
    co_wake(p->co);
    co_io_case_settle();
    co_case_start("forgets", forget, p); /* may wait for what is in flight */
    co_io_case_settle();
    buffer_free(&p->in);
    buffer_free(&p->out);
}

void party_expect_waiting(const struct party *p)
{
    EXPECT(p->does != PARKS, "%s returned %s, but nothing had happened that ends this wait",
           functions[p->did], co_io_case_result_name(p->result));
}

void party_expect_result(const struct party *p, enum io_result due)
{
    EXPECT(p->does == PARKS, "a coroutine still waits in %s, but %s is due", functions[p->did],
           co_io_case_result_name(due));
    EXPECT(p->result == due, "%s returned %s; due is %s", functions[p->did],
           co_io_case_result_name(p->result), co_io_case_result_name(due));
}

void party_expect_error(const struct party *p, int error)
{
    party_expect_result(p, IO_ERROR);
    EXPECT(p->error == error, "%s returned IO_ERROR with errno %d (%s); due is %d (%s)",
           functions[p->did], p->error, strerror(p->error), error, strerror(error));
}

void party_expect_text(struct party *p, const char *due)
{
    party_expect_result(p, IO_OK);
    check_equal(co_io_case_hint, "the bytes of co_read()", due, strlen(due), buffer_head(&p->in),
                buffer_len(&p->in));
    buffer_free(&p->in);
}

void party_queue(struct party *p, size_t size)
{
    if (!buffer_append(&p->out, co_io_data + p->queued, size))
        check_impossible("no memory for %zu bytes", size);
    p->queued += size;
}

size_t party_take(struct party *p)
{
    static uint8_t bytes[64 << 10];
    size_t before = p->taken;
    ssize_t n;
    while ((n = read(p->pair.peer, bytes, sizeof bytes)) > 0) {
        EXPECT(p->taken + (size_t)n <= p->queued, "%zu bytes were queued, but %zu arrived",
               p->queued, p->taken + (size_t)n);
        check_equal(co_io_case_hint, "the bytes at the peer", co_io_data + p->taken, (size_t)n,
                    bytes, (size_t)n);
        p->taken += (size_t)n;
    }
    return p->taken - before;
}

void party_expect_arrived(struct party *p)
{
    party_take(p);
    EXPECT(p->taken == p->queued && buffer_len(&p->out) == 0,
           "%zu bytes were queued, %zu arrived, and %zu are left in the buffer", p->queued,
           p->taken, buffer_len(&p->out));
}

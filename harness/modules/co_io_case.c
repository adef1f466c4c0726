#include "co_io_case.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

enum {
    SETTLE_TURNS = 1000,
    LOOKS = 2000 /* pauses of a millisecond, in which the kernel makes a connection */
};

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

/* Goes on until the condition is true, with pauses for the kernel. */
#define RUN_UNTIL(condition)                                                                       \
    for (int look_ = 0; look_ < LOOKS && !(condition); look_++) {                                  \
        co_io_case_turn();                                                                         \
        if (!co_is_ready(co_case_scheduler))                                                       \
            check_pause(1);                                                                        \
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

static int new_tcp_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        check_impossible("socket: %s", strerror(errno));
    return fd;
}

int bind_somewhere(struct sockaddr_in *address, int backlog)
{
    socklen_t size = sizeof *address;
    int fd = new_tcp_socket();
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0 ||
        (backlog >= 0 && listen(fd, backlog) != 0))
        check_impossible("cannot bind or listen: %s", strerror(errno));
    return fd;
}

/* A socket, and a coroutine that makes a call when it is asked to */

void (*party_has_called)(int fd, const char *function);

static const char *const functions[] = {
    [READS] = "co_read()",     [WRITES] = "co_write()",     [WAITS] = "co_wait()",
    [ACCEPTS] = "co_accept()", [CONNECTS] = "co_connect()",
};

/* A result, as the function has returned it. */
static const char *result_name(enum does does, enum io_result result)
{
    static const char *const names[] = {
        [IO_OK] = "IO_OK",       [IO_AGAIN] = "IO_AGAIN", [IO_EOF] = "IO_EOF",
        [IO_ERROR] = "IO_ERROR", [IO_LATE] = "IO_LATE",   [IO_CANCELLED] = "IO_CANCELLED"};
    if (does == ACCEPTS)
        return result == IO_OK ? "clients" : result == IO_AGAIN ? "NET_NONE" : "NET_FULL";
    return (unsigned)result <= IO_CANCELLED ? names[result] : "an unknown result";
}

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

static void has_called(const struct party *p)
{
    if (party_has_called != NULL)
        party_has_called(p->pair.fd, functions[p->does]);
}

static size_t accept_some(struct party *p)
{
    int fds[BACKLOG];
    int count = co_accept(&p->socket, fds, BATCH);
    p->error = errno;
    p->result = count > 0 ? IO_OK : count == NET_FULL ? IO_ERROR : IO_AGAIN;
    has_called(p);
    EXPECT(count != 0 && count <= BATCH,
           "co_accept() returned %d; allowed are 1 to %d, or NET_NONE", count, BATCH);
    for (int i = 0; i < count; i++, p->clients++)
        close(fds[i]);
    p->batch = count > p->batch ? count : p->batch;
    return 0;
}

static size_t connect_once(struct party *p)
{
    p->result = co_connect(&p->socket, &p->address);
    p->error = errno;
    has_called(p);
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
        [READS] = read_some,     [WRITES] = write_some,     [WAITS] = wait_for_nothing,
        [ACCEPTS] = accept_some, [CONNECTS] = connect_once,
    };
    int in_a_row = 0;
    do {
        p->moved += calls[p->does](p);
        p->calls++;
        p->in_vain += p->result == IO_AGAIN;
        in_a_row = p->result == IO_AGAIN ? in_a_row + 1 : 0;
        EXPECT(in_a_row <= IN_VAIN_MAX || p->takes_again || p->ends,
               "%s returned %s %d times, one after the other, but co_wake() was not called",
               functions[p->does], result_name(p->does, IO_AGAIN), in_a_row);
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
    if (p->pair.peer < 0)
        close(p->pair.fd);
}

void party_end_all(struct party *p)
{
    party_end(p);
    co_io_case_end();
}

/* Accepting and connecting */

static void begin_tcp(struct party *p, int fd)
{
    pair_set_nonblocking(fd);
    party_begin(p, (struct pair){.fd = fd, .peer = -1});
}

void party_accepts(struct party *p)
{
    struct sockaddr_in address;
    begin_tcp(p, bind_somewhere(&address, BACKLOG));
    p->address = address;
    p->repeats = true;
    party_ask(p, ACCEPTS);
    party_expect_waiting(p);
}

void party_meets(struct party *p, int clients)
{
    check_step("connects %d client%s", clients, clients == 1 ? "" : "s");
    for (int i = 0; i < clients; i++, p->met++) {
        int fd = new_tcp_socket();
        if (connect(fd, (struct sockaddr *)&p->address, sizeof p->address) != 0)
            check_impossible("connect: %s", strerror(errno));
        close(fd);
    }
}

void party_expect_clients(struct party *p)
{
    RUN_UNTIL(p->clients >= p->met);
    co_io_case_settle();
    EXPECT(p->clients == p->met, "%d clients have connected, but %d were accepted", p->met,
           p->clients);
}

void party_connects(struct party *p, const struct sockaddr_in *address)
{
    begin_tcp(p, new_tcp_socket());
    p->address = *address;
    party_call(p, CONNECTS);
}

/* What has become of it */

void party_expect_waiting(const struct party *p)
{
    EXPECT(p->does != PARKS, "%s returned %s, but nothing had happened that ends this wait",
           functions[p->did], result_name(p->did, p->result));
}

void party_expect_result(const struct party *p, enum io_result due)
{
    RUN_UNTIL(p->does == PARKS);
    EXPECT(p->does == PARKS, "a coroutine still waits in %s, but %s is due", functions[p->did],
           result_name(p->did, due));
    EXPECT(p->result == due, "%s returned %s; due is %s", functions[p->did],
           result_name(p->did, p->result), result_name(p->did, due));
}

void party_expect_error(const struct party *p, int error)
{
    party_expect_result(p, IO_ERROR);
    EXPECT(p->error == error, "%s returned %s with errno %d (%s); due is %d (%s)",
           functions[p->did], result_name(p->did, IO_ERROR), p->error, strerror(p->error), error,
           strerror(error));
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

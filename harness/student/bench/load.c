/* The load generator: clients in one thread, on epoll. It prints one line of JSON.
 *
 *     load PORT PID CLIENTS DEPTH BODY IDLE SPOKE WARM_MS MEASURED_MS
 *
 * CLIENTS connections have DEPTH frames of BODY bytes each in flight on the server at PORT of
 * 127.0.0.1, whose process is PID; IDLE others send SPOKE frames, 0 or 1, and then only stay open.
 * After WARM_MS what comes back is counted for MEASURED_MS. Exit status: 0; 1 the server did not
 * answer as it should, or 2 wrong usage, and stderr says why.
 *
 * Closed loop: a client sends its next frame when a reply comes back, so a slow server is asked
 * less. Every byte that comes back is compared with what was sent. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 4,
    READ_BYTES = 256 << 10,
    PERIOD_BYTES = 1 << 20, /* at least, or two frames: more than any first-level cache */
    EVENTS = 512,
    PATIENCE_MS = 10000
};

struct client {
    int fd; /* nonblocking */
    unsigned number;
    bool blocked;      /* the kernel took less than there was to send */
    uint64_t depth;    /* frames in flight, at most */
    uint64_t wanted;   /* bytes; after these it is idle */
    uint64_t sent;     /* bytes */
    uint64_t received; /* bytes, all of them as expected */
};

static unsigned port, server, clients, depth, body, idle, spoke, warm_ms, measured_ms;
static int epoll;
static struct client *all; /* those that send, then those that are idle */
static unsigned opened;

/* What every client sends, and so expects back: frames of one size with random content, over and
 * over. Frame k of client i is frame (i + k) of a period, so a reply to somebody else is not taken
 * for one's own. The first READ_BYTES stand once more behind the period. */
static uint8_t *stream;
static size_t frame, period;    /* bytes of a frame with its header; of a whole number of frames */
static uint64_t total_received; /* bytes, by all clients */

__attribute__((format(printf, 1, 2))) _Noreturn static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    exit(1);
}

/* CLOCK_MONOTONIC in nanoseconds. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void make_stream(void)
{
    frame = HEADER_BYTES + (size_t)body;
    period = (PERIOD_BYTES / frame + 2) * frame;
    stream = malloc(period + READ_BYTES);
    if (stream == NULL)
        fail("out of memory");
    uint64_t bits = 88172645463325252u; /* xorshift (Marsaglia, 2003): the same in every run */
    for (size_t at = 0; at < period; at += sizeof bits) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        memcpy(stream + at, &bits, sizeof bits);
    }
    for (size_t at = 0; at < period; at += frame) {
        for (int i = 0; i < HEADER_BYTES; i++)
            stream[at + (size_t)i] = (uint8_t)(body >> 8 * i);
    }
    memcpy(stream + period, stream, READ_BYTES);
}

/* Where byte `at` of what the client sends is in `stream`. */
static size_t place_of(const struct client *c, uint64_t at)
{
    return (size_t)((at + (uint64_t)c->number * frame) % period);
}

/* Sends until `depth` frames are in flight or the kernel takes no more (`blocked`). */
static void client_send(struct client *c)
{
    uint64_t limit = (c->received / frame + c->depth) * frame;
    if (limit > c->wanted)
        limit = c->wanted;
    c->blocked = false;
    while (c->sent < limit && !c->blocked) {
        size_t place = place_of(c, c->sent), size = period - place;
        if (size > limit - c->sent)
            size = (size_t)(limit - c->sent);
        ssize_t n = send(c->fd, stream + place, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            fail("client %u: send: %s", c->number, strerror(errno));
        c->sent += n > 0 ? (uint64_t)n : 0;
        c->blocked = n < (ssize_t)size;
    }
}

/* Reads once, checks every byte, and sends the next frames. */
static void client_receive(struct client *c)
{
    static uint8_t input[READ_BYTES];
    ssize_t n = read(c->fd, input, sizeof input);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        fail("client %u: read: %s", c->number, strerror(errno));
    if (n == 0)
        fail("client %u: the server closed the connection", c->number);
    size_t size = (size_t)n, right = 0;
    if (c->received + size > c->sent)
        fail("client %u: more came back than was sent", c->number);
    const uint8_t *expected = stream + place_of(c, c->received);
    if (memcmp(input, expected, size) != 0) {
        while (input[right] == expected[right])
            right++;
        fail("client %u: byte %llu of what came back is wrong", c->number,
             (unsigned long long)(c->received + right));
    }
    c->received += size;
    total_received += size;
    client_send(c);
}

/* Waits to hear that the socket can be written only while it cannot. */
static void watch(struct client *c, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (c->blocked ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(epoll, operation, c->fd, &event) < 0)
        fail("epoll_ctl: %s", strerror(errno));
}

static void open_clients(unsigned count, uint64_t frames, uint64_t wanted)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    for (unsigned i = 0; i < count; i++, opened++) {
        struct client *c = &all[opened];
        *c = (struct client){.number = opened, .depth = frames, .wanted = wanted};
        c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) < 0)
            fail("client %u: connect: %s", opened, strerror(errno));
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        fcntl(c->fd, F_SETFL, O_NONBLOCK);
        client_send(c);
        watch(c, EPOLL_CTL_ADD);
    }
}

/* Serves what is ready, at most until `end`. */
static void turn(uint64_t end)
{
    static struct epoll_event events[EVENTS];
    uint64_t now = now_ns();
    int ready = epoll_wait(epoll, events, EVENTS, end > now ? (int)((end - now) / 1000000) + 1 : 0);
    for (int i = 0; i < ready; i++) {
        struct client *c = events[i].data.ptr;
        bool blocked = c->blocked;
        if (events[i].events & EPOLLOUT)
            client_send(c);
        if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
            client_receive(c);
        if (c->blocked != blocked)
            watch(c, EPOLL_CTL_MOD);
    }
}

static void run_for(unsigned ms)
{
    uint64_t end = now_ns() + (uint64_t)ms * 1000000;
    while (now_ns() < end)
        turn(end);
}

/* Until each client that sends has had one reply: so the server has accepted it. */
static void until_served(void)
{
    uint64_t end = now_ns() + (uint64_t)PATIENCE_MS * 1000000;
    for (unsigned i = 0; i < opened; i++) {
        while (all[i].wanted > 0 && all[i].received < frame) {
            if (now_ns() >= end)
                fail("client %u: no reply for %d s", i, PATIENCE_MS / 1000);
            turn(end);
        }
    }
}

/* Resident bytes of the server: the second number in its statm, see proc(5). */
static long resident_bytes(void)
{
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%u/statm", server);
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1)
        fail("the server has ended");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv)
{
    unsigned *const words[] = {&port, &server, &clients, &depth,      &body,
                               &idle, &spoke,  &warm_ms, &measured_ms};
    const int count = sizeof words / sizeof *words;
    for (int i = 0; i < count && argc == count + 1; i++)
        *words[i] = (unsigned)strtoul(argv[i + 1], NULL, 10);
    if (argc != count + 1) {
        fputs("usage: load PORT PID CLIENTS DEPTH BODY IDLE SPOKE WARM_MS MEASURED_MS\n", stderr);
        return 2;
    }
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max; /* 1024 descriptors are too few */
    setrlimit(RLIMIT_NOFILE, &limit);
    make_stream();
    all = calloc(clients + idle, sizeof *all);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (all == NULL || epoll < 0)
        fail("out of memory");

    open_clients(clients, depth, UINT64_MAX);
    until_served();
    run_for(warm_ms);
    long before = resident_bytes();
    open_clients(idle, 1, spoke * frame);
    until_served();
    run_for(warm_ms);
    uint64_t start = now_ns(), received = total_received;
    run_for(measured_ms);
    double seconds = 1e-9 * (double)(now_ns() - start);
    double requests = (double)(total_received - received) / (double)frame;
    if (total_received == received)
        fail("nothing came back in %u ms", measured_ms);
    printf("{\"seconds\": %.6f, \"requests\": %.3f, \"resident_bytes\": [%ld, %ld]}\n", seconds,
           requests, before, resident_bytes());
    return 0;
}

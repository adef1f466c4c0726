/* The load generator: clients in one thread, on epoll. It prints one line of JSON with the results.
 *
 *     load -p PORT -c 50 -d 16 -s 64 -i 5000 -P PID
 *
 * Closed loop: a client sends its next frame when a reply comes back, so a slow server is asked
 * less. Every byte that comes back is compared with what was sent. */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "options.h"

enum { EVENTS = 512, PATIENCE_MS = 10000 };

static const double quantiles[] = {0,     0.1,   0.2,    0.3,    0.4,     0.5,  0.6,
                                   0.7,   0.8,   0.9,    0.95,   0.98,    0.99, 0.995,
                                   0.998, 0.999, 0.9995, 0.9999, 0.99999, 1};

struct run {
    struct options options;
    struct shared shared;
    int epoll;
    struct client *clients; /* those that send, then those that are idle */
    unsigned opened;
};

struct use {
    uint64_t ns;
    double server_cpu;
    double own_cpu;
};

/* As many descriptors as we may have: 1024 are too few. */
static void raise_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Waits to hear that the socket can be written only while it cannot. */
static void watch(struct run *r, struct client *c, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (c->blocked ? EPOLLOUT : 0), .data.ptr = c};
    if (epoll_ctl(r->epoll, operation, c->fd, &event) < 0)
        fail("epoll_ctl: %s", strerror(errno));
}

static void open_clients(struct run *r, unsigned count, unsigned depth, uint64_t wanted)
{
    for (unsigned i = 0; i < count; i++) {
        struct client *c = &r->clients[r->opened];
        client_open(c, &r->shared, r->opened++, depth, wanted);
        client_send(c, now_ns());
        watch(r, c, EPOLL_CTL_ADD);
    }
}

/* Serves what is ready, at most until `end`. */
static void turn(struct run *r, uint64_t end)
{
    static struct epoll_event events[EVENTS];
    uint64_t now = now_ns();
    int timeout_ms = end > now ? (int)((end - now) / 1000000) + 1 : 0;
    int ready = epoll_wait(r->epoll, events, EVENTS, r->options.busy ? 0 : timeout_ms);
    if (ready < 0 && errno != EINTR)
        fail("epoll_wait: %s", strerror(errno));
    for (int i = 0; i < ready; i++) {
        struct client *c = events[i].data.ptr;
        bool blocked = c->blocked;
        if (events[i].events & EPOLLOUT)
            client_send(c, now_ns());
        if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP))
            client_receive(c);
        if (c->blocked != blocked)
            watch(r, c, EPOLL_CTL_MOD);
    }
}

static void run_for(struct run *r, unsigned ms)
{
    uint64_t end = now_ns() + (uint64_t)ms * 1000000;
    while (now_ns() < end)
        turn(r, end);
}

/* Until each client that wants a reply has had one: so the server has accepted them all. */
static void until_served(struct run *r)
{
    uint64_t end = now_ns() + (uint64_t)PATIENCE_MS * 1000000;
    for (unsigned i = 0; i < r->opened; i++) {
        struct client *c = &r->clients[i];
        while (c->wanted > 0 && c->received < r->shared.stream.frame) {
            if (now_ns() >= end)
                fail("client %u: no reply for %d s", i, PATIENCE_MS / 1000);
            turn(r, end);
        }
    }
}

/* CPU seconds of the server so far, all its threads; 0 if there is none. */
static double server_cpu_seconds(const struct options *o)
{
    clockid_t clock;
    struct timespec used;
    if (o->server == 0 || clock_getcpuclockid((pid_t)o->server, &clock) != 0 ||
        clock_gettime(clock, &used) < 0)
        return 0;
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Resident bytes of the server; 0 if there is none. */
static long server_resident_bytes(const struct options *o)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/statm", o->server);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    long pages = 0; /* the second number: see proc(5) */
    if (fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static struct use use_now(const struct run *r)
{
    struct timespec own;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    return (struct use){
        .ns = now_ns(),
        .server_cpu = server_cpu_seconds(&r->options),
        .own_cpu = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec,
    };
}

static void print_latencies(const struct histogram *h)
{
    printf("\"latency_us\": {\"p50\": %.3f, \"p99\": %.3f, \"p99.9\": %.3f}, \"quantiles\": [",
           1e-3 * (double)histogram_quantile(h, 0.5), 1e-3 * (double)histogram_quantile(h, 0.99),
           1e-3 * (double)histogram_quantile(h, 0.999));
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++)
        printf("%s[%g, %.3f]", i > 0 ? ", " : "", quantiles[i],
               1e-3 * (double)histogram_quantile(h, quantiles[i]));
    printf("]");
}

static void print_result(const struct run *r, const struct use *from, const struct use *to)
{
    double seconds = 1e-9 * (double)(to->ns - from->ns);
    double requests = (double)r->shared.received / (double)r->shared.stream.frame;
    double server_cpu = to->server_cpu - from->server_cpu;
    printf("{\"errors\": 0, \"seconds\": %.6f, \"requests_per_s\": %.3f, \"mb_per_s\": %.3f, ",
           seconds, requests / seconds, 1e-6 * (double)r->shared.received / seconds);
    printf("\"server_cpu_s\": %.6f, \"server_us_per_request\": %.6f, \"own_cpu_s\": %.6f, ",
           server_cpu, requests > 0 ? 1e6 * server_cpu / requests : 0, to->own_cpu - from->own_cpu);
    print_latencies(&r->shared.latencies);
}

static void measure(struct run *r)
{
    open_clients(r, r->options.connections, r->options.depth, UINT64_MAX);
    until_served(r);
    run_for(r, r->options.warm_ms);
    long before = server_resident_bytes(&r->options);
    open_clients(r, r->options.idle, 1, r->options.idle_spoke ? 1 : 0);
    until_served(r);
    run_for(r, r->options.warm_ms);

    struct use from = use_now(r);
    r->shared.counting = true;
    run_for(r, r->options.measure_ms);
    struct use to = use_now(r);
    if (r->shared.received == 0)
        fail("nothing came back in %u ms", r->options.measure_ms);
    print_result(r, &from, &to);
    printf(", \"resident_before\": %ld, \"resident_after\": %ld}\n", before,
           server_resident_bytes(&r->options));
}

int main(int argc, char **argv)
{
    static struct run r;
    options_parse(&r.options, argc, argv);
    raise_limit();
    r.shared.address = (struct sockaddr_in){.sin_family = AF_INET,
                                            .sin_port = htons((uint16_t)r.options.port),
                                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    r.clients = calloc(r.options.connections + r.options.idle, sizeof *r.clients);
    r.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (r.clients == NULL || r.epoll < 0 || !stream_make(&r.shared.stream, r.options.size))
        fail("out of memory");
    measure(&r);
    for (unsigned i = 0; i < r.opened; i++)
        client_close(&r.clients[i]);
    free(r.clients);
    stream_free(&r.shared.stream);
    close(r.epoll);
    return 0;
}

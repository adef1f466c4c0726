/* A server whose loops this program turns itself: none of them has a thread, except at the end.
 * links: server.c acceptor.c broadcast.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor.h"
#include "backend.h"
#include "broadcast.h"
#include "check.h"
#include "conn.h"
#include "net.h"
#include "no_memory.h"
#include "rpc.h"
#include "stop.h"

#define ARRIVALS "stop-in-order"
#define COUNTED  "connections-counted"
#define REFUSED  "arrival-refused"
#define AT_ONCE  "broadcast-at-once"
#define FREED    "push-frees"
#define BOUND    "push-bound"
#define MISSED   "push-missed"
#define TOLD     "told-one-by-one"

enum {
    LOOPS = 3,
    CLIENTS = 7,
    ROUNDS = 2, /* in which a connection is accepted, and gets to its loop */
    TURNS_MAX = 1000,
    HIGH_WATER = 1 << 20,
    LARGE_BYTES = FRAME_MAX_BYTES / 2,
    BROADCASTS = 40,
    TEXT_BYTES = 256 << 10,
    FRAMES_BYTES = 2 << 10, /* around such texts, and replies */
    LOOKS = 50,
    LOOK_MS = 100
};

/* Replace those of the module: what is checked here does not depend on them. */
void stats_add(struct stats *to, struct counts more)
{
    to->counts.connections += more.connections;
    to->counts.received += more.received;
    to->counts.sent += more.sent;
}

void stats_sum(struct stats *of, struct counts *sum)
{
    sum->connections += of->counts.connections;
    sum->received += of->counts.received;
    sum->sent += of->counts.sent;
}

static struct config config = {
    .framing = {.kind = FRAMING_LENGTH},
    .app = APP_RPC,
    .limits = {.high_water = HIGH_WATER, .low_water = HIGH_WATER / 2},
};

static struct server server;
static struct acceptor acceptor;
static struct sockaddr_in address;
static int listen_fd;
static int clients[CLIENTS];
static const uint8_t text[LARGE_BYTES];

/* A backend that watches no connection while `refuses` is set. */
static struct backend refusing;
static bool refuses;

static bool add_or_refuse(void *state, int fd, unsigned interest, struct watch *watch)
{
    if (!refuses)
        return backend_poll.add(state, fd, interest, watch);
    errno = ENOSPC;
    return false;
}

static void begin(int loops)
{
    refusing = backend_poll;
    refusing.add = add_or_refuse;
    socklen_t size = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check_step("calls server_open() for %d loops, and acceptor_open()", loops);
    listen_fd = net_listen(&address);
    if (listen_fd < 0 || getsockname(listen_fd, (struct sockaddr *)&address, &size) != 0)
        check_impossible("no socket that listens: %s", strerror(errno));
    CHECK(server_open(&server, &config, loops, &refusing), "module-refuses",
          "server_open() returned false: %s", check_reason());
    CHECK(acceptor_open(&acceptor, &server, listen_fd), "module-refuses",
          "acceptor_open() returned false: %s", check_reason());
}

/* An iteration that does not sleep. */
static void turn(int index)
{
    struct loop *loop = &server.workers[index].loop;
    events_wake(loop->events);
    loop_turn(loop);
}

/* Any of them may get the next connection. */
static void turn_all(const char *meanwhile)
{
    check_step("calls loop_turn() for each loop, %d times%s", ROUNDS, meanwhile);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < server.count; i++)
            turn(i);
}

static int counted(void)
{
    return (int)server_counts(&server).connections;
}

static int connections_in_list(void)
{
    int count = 0;
    struct conn *c;
    LIST_FOREACH (c, &server.workers[0].conns, others)
        count++;
    return count;
}

static void connect_one(int i)
{
    check_step("connects a client");
    clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(clients[i], (struct sockaddr *)&address, sizeof address) != 0)
        check_impossible("cannot connect: %s", strerror(errno));
}

/* Clients that the first loop has accepted, and the others do not know yet. */
static void begin_with(int loops, int count)
{
    begin(loops);
    for (int i = 0; i < count; i++)
        connect_one(i);
    check_step("calls loop_turn() for the first loop, until %d clients are accepted", count);
    for (int i = 0; i < TURNS_MAX && counted() < count; i++)
        turn(0);
    CHECK(counted() == count, COUNTED,
          "%d clients are connected, and after iterations of the first loop %d are counted", count,
          counted());
}

static struct conn *first_conn(void)
{
    struct conn *c = LIST_FIRST(&server.workers[0].conns);
    CHECK(c != NULL, "loop-share", "the first loop has none of the connections");
    return c;
}

/* Returns true if the peer of the client has closed its connection. */
static bool is_closed(int client)
{
    struct pollfd ready = {.fd = client, .events = POLLIN};
    char byte;
    for (int i = 0; i < LOOKS && poll(&ready, 1, LOOK_MS) == 0; i++)
        check_value("looks", i); /* it goes on */
    return ready.revents != 0 && recv(client, &byte, 1, MSG_DONTWAIT) <= 0;
}

/* Arrivals */

static void arrivals_are_counted(void)
{
    begin_with(LOOPS, CLIENTS);
    turn_all("");
    CHECK(counted() == CLIENTS, COUNTED, "%d clients are connected, and %d are counted", CLIENTS,
          counted());
}

static void expect_no_connection(int client, const char *why)
{
    CHECK(counted() == 0, REFUSED, "%s, and %d connections are counted", why, counted());
    CHECK(is_closed(client), REFUSED, "%s, and the descriptor of the connection is open", why);
}

static void refused_arrivals(void)
{
    begin(LOOPS);
    for (int i = 0; i < LOOPS; i++) {
        connect_one(i);
        refuses = true;
        turn_all("; conn_open() fails");
        refuses = false;
        expect_no_connection(clients[i], "conn_open() has failed");
    }
    connect_one(LOOPS);
    no_memory_begin();
    turn_all("; there is no memory");
    if (no_memory_end() > 0)
        expect_no_connection(clients[LOOPS], "there was no memory for a connection");
}

/* Broadcasts and pushes, of one loop with two clients that do not read */

static bool broadcast(struct conn *from, size_t size)
{
    check_step("calls broadcast_start() with %zu bytes", size);
    return broadcast_start(from, 1, (struct bytes){text, size});
}

static size_t pushed(void)
{
    size_t bytes = 0;
    struct conn *c;
    LIST_FOREACH (c, &server.workers[0].conns, others)
        bytes += buffer_len(&c->out);
    return bytes;
}

/* What calls broadcast_start() goes on with the sender: so nothing may happen before it returns. */
static void broadcast_is_queued(void)
{
    begin_with(1, 2);
    CHECK(broadcast(first_conn(), 1), AT_ONCE, "broadcast_start() returned false");
    CHECK(pushed() == 0, AT_ONCE, "broadcast_start() has pushed the message before it returned");
    check_step("there is no memory from now on");
    no_memory_begin();
    bool started = broadcast(first_conn(), LARGE_BYTES);
    CHECK(no_memory_end() == 0 || !started, "broadcast-not-begun",
          "broadcast_start() had no memory, and returned true");
}

static void pushes_within_the_budget(void)
{
    const size_t most = LOOP_BUDGET_BYTES + 2 * TEXT_BYTES + FRAMES_BYTES;
    begin_with(1, 2);
    for (int i = 0; i < BROADCASTS; i++)
        broadcast(first_conn(), TEXT_BYTES);
    check_step("calls loop_turn()");
    turn(0);
    struct conn *c;
    LIST_FOREACH (c, &server.workers[0].conns, others)
        CHECK(buffer_len(&c->out) > 0, "broadcast-reach",
              "nothing has been pushed to one of two connections");
    CHECK(pushed() <= most, "push-budget",
          "in one iteration %zu bytes were pushed; the budget is enough for %zu", pushed(), most);
}

static bool push(struct conn *c, const char *meanwhile)
{
    check_step("calls conn_push() with %d bytes%s", LARGE_BYTES, meanwhile);
    bool done = conn_push(c, (struct bytes){text, LARGE_BYTES});
    CHECK(connections_in_list() == 2, FREED, "conn_push() has freed the connection");
    return done;
}

static void expect_closed(bool done, const char *hint, const char *why)
{
    CHECK(!done, hint, "%s, and conn_push() returned true", why);
    check_step("calls loop_turn()");
    turn(0);
    CHECK(connections_in_list() == 1, hint, "%s, and the connection is still there", why);
}

/* The third text is more than a connection may hold. */
static void push_that_closes(void)
{
    begin_with(1, 2);
    struct conn *c = first_conn();
    for (int i = 0; i < 2; i++)
        CHECK(push(c, ""), "push-too-early",
              "conn_push() returned false, and the connection holds %zu bytes",
              buffer_len(&c->out));
    bool done = push(c, ", which is too much");
    expect_closed(done, BOUND, "the connection would hold too much");
}

static void push_without_memory(void)
{
    begin_with(1, 2);
    struct conn *c = first_conn();
    no_memory_begin();
    bool done = push(c, "; there is no memory");
    if (no_memory_end() > 0)
        expect_closed(done, MISSED, "there was no memory for a push");
}

/* The end */

/* Replaces that of the C library, and goes on to it. */
int pthread_join(pthread_t thread, void **result)
{
    int (*join)(pthread_t, void **) = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
    int own = 0;
    for (int i = 1; i < server.running; i++) {
        own += pthread_equal(thread, server.workers[i].thread) != 0;
        CHECK(events_stopping(server.workers[i].loop.events), TOLD,
              "a thread is waited for, and loop %d was not told to stop", i);
    }
    CHECK(own == 1, TOLD, "pthread_join() is called for a thread that was never started");
    return join(thread, result);
}

static void stops_together(void)
{
    begin(LOOPS);
    acceptor_close(&acceptor);
    stop_install(server.workers[0].loop.events);
    raise(SIGTERM);
    check_step("calls server_run(), which starts the threads, after SIGTERM has come");
    CHECK(server_run(&server, listen_fd), "module-refuses", "server_run() returned false");
    check_step("calls server_stop()");
    server_stop(&server);
    server_close(&server);
}

static bool tasks_are_left(void)
{
    bool left = false;
    for (int i = 0; i < LOOPS; i++)
        left = left || !STAILQ_EMPTY(&server.workers[i].loop.taken) ||
               !STAILQ_EMPTY(&server.workers[i].loop.tasks);
    return left;
}

/* Most clients have not got to their loops, which never run. A broadcast has to go to all loops, and
 * to come back. */
static void on_their_way(void)
{
    begin_with(LOOPS, CLIENTS);
    broadcast(first_conn(), 1);
    check_step("calls acceptor_close() and server_stop()");
    acceptor_close(&acceptor);
    server_stop(&server);
    for (int i = 0; i < CLIENTS; i++)
        CHECK(is_closed(clients[i]), ARRIVALS,
              "client %d of %d was on its way to its loop, and its connection is open", i + 1,
              CLIENTS);
    CHECK(counted() == 0, ARRIVALS, "all clients were closed, and %d of them are still counted",
          counted());
    CHECK(!tasks_are_left(), ARRIVALS, "tasks are left in the queues of the loops");
    server_close(&server);
}

const struct check checks[] = {
    {"arrivals_are_counted", arrivals_are_counted},
    {"refused_arrivals", refused_arrivals},
    {"broadcast_is_queued", broadcast_is_queued},
    {"pushes_within_the_budget", pushes_within_the_budget},
    {"push_that_closes", push_that_closes},
    {"push_without_memory", push_without_memory},
    {"stops_together", stops_together},
    {"on_their_way", on_their_way},
    {0},
};

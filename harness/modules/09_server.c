/* A server whose loops this program turns itself: none of them has a thread, except at the end.
 * links: server.c acceptor.c broadcast.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
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
#define BUDGET   "push-budget"
#define REFUSED  "arrival-refused"
#define AT_ONCE  "broadcast-at-once"
#define FREED    "push-frees"
#define BOUND    "push-bound"
#define TOLD     "told-one-by-one"
#define REACH    "broadcast-reach"
#define MISSED   "push-missed"
#define UNBEGUN  "broadcast-not-begun"

enum {
    LOOPS = 3,
    ON_THEIR_WAY = 7,
    SENDERS = 32,
    TEXT_BYTES = 32 << 10,
    COUNT_BYTES = 3, /* of the length in front of such a text */
    HEAD_BYTES = 4 + 4 + 4 + COUNT_BYTES,
    PUSH_COST = (1 << 10) + TEXT_BYTES,
    PUSHES_MAX = LOOP_BUDGET_BYTES / PUSH_COST + 1,
    HIGH_WATER = 1 << 20,
    LARGE_BYTES = FRAME_MAX_BYTES / 2,
    FRAMES_BYTES = 3 * HEAD_BYTES, /* around such texts */
    TURNS_MAX = 1000,
    A_FEW = 5,
    ROUNDS = 2, /* in which a connection is accepted, and gets to its loop */
    LOOKS = 50,
    LOOK_MS = 100,
    PAUSE_MS = 1
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

/* A backend that watches no connection while `refuses` is set. */
static struct backend refusing;
static bool refuses;
static int refusals; /* since it was set */

static bool add_or_refuse(void *state, int fd, unsigned interest, struct watch *watch)
{
    if (!refuses)
        return backend_poll.add(state, fd, interest, watch);
    refusals++;
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
    check_step("calls server_open() for %d loop%s, and acceptor_open()", loops,
               loops == 1 ? "" : "s");
    listen_fd = net_listen(&address);
    if (listen_fd < 0 || getsockname(listen_fd, (struct sockaddr *)&address, &size) != 0)
        check_impossible("no socket that listens: %s", strerror(errno));
    CHECK(server_open(&server, &config, loops, &refusing), "module-refuses",
          "server_open() returned false: %s", check_reason());
    CHECK(acceptor_open(&acceptor, &server, listen_fd), "module-refuses",
          "acceptor_open() returned false: %s", check_reason());
}

/* An iteration that does not sleep. */
static void turn_of(int index)
{
    struct loop *loop = &server.workers[index].loop;
    events_wake(loop->events);
    loop_turn(loop);
}

static void turn(void)
{
    turn_of(0);
}

/* Any of them may get the next connection. */
static void turn_all(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < server.count; i++)
            turn_of(i);
}

static void end(int clients[], int count)
{
    check_step("calls acceptor_close(), conn_close_all() and server_close()");
    acceptor_close(&acceptor);
    for (int i = 0; i < server.count; i++)
        conn_close_all(&server.workers[i]);
    server_close(&server);
    close(listen_fd);
    for (int i = 0; i < count; i++)
        close(clients[i]);
}

static void connect_all(int clients[], int count)
{
    check_step("connects %d clients", count);
    for (int i = 0; i < count; i++) {
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(clients[i], (struct sockaddr *)&address, sizeof address) != 0)
            check_impossible("cannot connect: %s", strerror(errno));
    }
}

/* Iterations of the first loop, until it has accepted so many clients. */
static void accept_all(int count)
{
    check_step("calls loop_turn() for the first loop, until %d clients are accepted", count);
    for (int i = 0; i < TURNS_MAX && server_counts(&server).connections < count; i++)
        turn();
    int counted = (int)server_counts(&server).connections;
    CHECK(counted == count, COUNTED,
          "%d clients are connected, and after iterations of the first loop %d are counted", count,
          counted);
}

/* Whether the peer of the client has closed its connection. */
static bool is_closed(int client)
{
    struct pollfd ready = {.fd = client, .events = POLLIN};
    char byte;
    for (int i = 0; i < LOOKS && poll(&ready, 1, LOOK_MS) == 0; i++)
        check_value("looks", i); /* it goes on */
    return ready.revents != 0 && recv(client, &byte, 1, MSG_DONTWAIT) <= 0;
}

static void expect_closed(int client, int number)
{
    CHECK(is_closed(client), ARRIVALS,
          "client %d of %d was on its way to its loop, and its connection is open", number,
          ON_THEIR_WAY);
    close(client);
}

/* The first loop has accepted them, and the others never run. */
static void on_their_way(void)
{
    int clients[ON_THEIR_WAY];
    begin(LOOPS);
    connect_all(clients, ON_THEIR_WAY);
    accept_all(ON_THEIR_WAY);
    check_step("calls acceptor_close() and server_stop()");
    acceptor_close(&acceptor);
    server_stop(&server);
    for (int i = 0; i < ON_THEIR_WAY; i++)
        expect_closed(clients[i], i + 1);
    int left = (int)server_counts(&server).connections;
    CHECK(left == 0, ARRIVALS, "all clients were closed, and %d of them are still counted", left);
    check_step("calls server_close()");
    server_close(&server);
    close(listen_fd);
}

static void put_number(uint8_t bytes[4], uint32_t number)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

/* Sends a BROADCAST, and waits until all of it has arrived. */
static void send_broadcast(int client)
{
    static uint8_t frame[HEAD_BYTES + TEXT_BYTES];
    static const uint8_t count[COUNT_BYTES] = {0x80, 0x80, TEXT_BYTES >> 14};
    put_number(frame, sizeof frame - 4);
    put_number(frame + 4, RPC_BROADCAST);
    put_number(frame + 8, 1);
    memcpy(frame + 12, count, sizeof count);
    if (send(client, frame, sizeof frame, 0) != sizeof frame)
        check_impossible("cannot send: %s", strerror(errno));
    int left = 1;
    while (ioctl(client, SIOCOUTQ, &left) == 0 && left > 0)
        check_pause(PAUSE_MS);
}

static void read_what_is_there(int client)
{
    static uint8_t thrown_away[1 << 18];
    while (recv(client, thrown_away, sizeof thrown_away, MSG_DONTWAIT) > 0)
        continue;
}

/* One iteration, in which it may push as much as its budget allows, end the broadcast with which
 * that is used up, and reply to all senders. */
static void turn_within_the_budget(void)
{
    int64_t before = server_counts(&server).sent;
    turn();
    int made = (int)(server_counts(&server).sent - before);
    CHECK(made <= PUSHES_MAX + 2 * SENDERS, BUDGET,
          "in one iteration %d pushes of %d bytes were made; the budget is enough for %d", made,
          TEXT_BYTES, PUSHES_MAX);
}

static void pushes_within_the_budget(void)
{
    int clients[SENDERS];
    begin(1);
    connect_all(clients, SENDERS);
    accept_all(SENDERS);
    check_step("sends a BROADCAST of %d bytes from each client", TEXT_BYTES);
    for (int i = 0; i < SENDERS; i++)
        send_broadcast(clients[i]);
    int64_t due = SENDERS * SENDERS + SENDERS;
    check_step("calls loop_turn(), until all have %d pushes and a reply", SENDERS);
    for (int i = 0; i < TURNS_MAX && server_counts(&server).sent < due; i++) {
        turn_within_the_budget();
        for (int number = 0; number < SENDERS; number++)
            read_what_is_there(clients[number]);
    }
    CHECK(server_counts(&server).sent == due, REACH, "%d replies and pushes were made; due are %d",
          (int)server_counts(&server).sent, (int)due);
    end(clients, SENDERS);
}

/* Arrivals */

/* The other loops have not got theirs when all are counted. */
static void arrivals_are_counted(void)
{
    int clients[ON_THEIR_WAY];
    begin(LOOPS);
    connect_all(clients, ON_THEIR_WAY);
    accept_all(ON_THEIR_WAY);
    check_step("calls loop_turn() for each loop, %d times", ROUNDS);
    turn_all();
    int counted = (int)server_counts(&server).connections;
    CHECK(counted == ON_THEIR_WAY, COUNTED, "%d clients are connected, and %d are counted",
          ON_THEIR_WAY, counted);
    end(clients, ON_THEIR_WAY);
}

static void expect_no_connection(int client, const char *why)
{
    int left = (int)server_counts(&server).connections;
    CHECK(left == 0, REFUSED, "%s, and %d connections are counted", why, left);
    CHECK(is_closed(client), REFUSED, "%s, and the descriptor of the connection is open", why);
}

static void refused_arrivals(void)
{
    int clients[LOOPS];
    begin(LOOPS);
    for (int i = 0; i < LOOPS; i++) {
        connect_all(&clients[i], 1);
        check_step("calls loop_turn() for each loop, %d times; conn_open() fails", ROUNDS);
        refusals = 0;
        refuses = true;
        turn_all();
        refuses = false;
        CHECK(refusals > 0, "loop-share", "no loop has called conn_open() for the client");
        expect_no_connection(clients[i], "conn_open() has failed");
    }
    end(clients, LOOPS);
}

static void arrivals_without_memory(void)
{
    int client;
    begin(LOOPS);
    connect_all(&client, 1);
    check_step("calls loop_turn() for each loop, %d times; there is no memory", ROUNDS);
    no_memory_begin();
    turn_all();
    if (no_memory_end() > 0)
        expect_no_connection(client, "there was no memory for a connection");
    end(&client, 1);
}

/* Broadcasts and pushes */

static struct conn *first_conn(void)
{
    struct conn *c = LIST_FIRST(&server.workers[0].conns);
    CHECK(c != NULL, ARRIVALS, "no connection is in the list of its worker");
    return c;
}

/* What calls it goes on with the sender: so nothing may happen before it has returned. */
static void broadcast_is_queued(void)
{
    int clients[2];
    begin(1);
    connect_all(clients, 2);
    accept_all(2);
    check_step("calls broadcast_start()");
    struct conn *c = first_conn();
    CHECK(broadcast_start(c, 1, (struct bytes){(const uint8_t *)"\1x", 2}), AT_ONCE,
          "broadcast_start() returned false");
    LIST_FOREACH (c, &server.workers[0].conns, others)
        CHECK(buffer_len(&c->out) == 0, AT_ONCE,
              "broadcast_start() has pushed the message before it returned");
    check_step("calls loop_turn(), %d times", A_FEW);
    for (int i = 0; i < A_FEW; i++)
        turn();
    CHECK(server_counts(&server).sent == 3, REACH,
          "%d replies and pushes were made; due are 2 pushes and a reply",
          (int)server_counts(&server).sent);
    end(clients, 2);
}

static void broadcast_without_memory(void)
{
    static const uint8_t text[LARGE_BYTES];
    int clients[2];
    begin(1);
    connect_all(clients, 2);
    accept_all(2);
    check_step("calls broadcast_start(); there is no memory");
    no_memory_begin();
    bool started = broadcast_start(first_conn(), 1, (struct bytes){text, sizeof text});
    int refused = no_memory_end(); /* 0 under valgrind, which has a malloc() of its own */
    if (started) {
        check_step("calls loop_turn(), %d times", A_FEW);
        for (int i = 0; i < A_FEW; i++)
            turn();
        CHECK(refused == 0 || server_counts(&server).sent == 3, UNBEGUN,
              "broadcast_start() had no memory, and returned true; %d replies and pushes were made",
              (int)server_counts(&server).sent);
    }
    end(clients, 2);
}

static int connections_in_list(void)
{
    int count = 0;
    struct conn *c;
    LIST_FOREACH (c, &server.workers[0].conns, others)
        count++;
    return count;
}

/* The third of these texts is more than a connection may hold. */
static void push_that_closes(void)
{
    static const uint8_t text[LARGE_BYTES];
    int clients[2];
    size_t most = (size_t)FRAME_MAX_BYTES + HIGH_WATER;
    begin(1);
    connect_all(clients, 2);
    accept_all(2);
    struct conn *c = first_conn();
    for (int i = 0; i < 2; i++) {
        check_step("calls conn_push() with %d bytes; nothing is sent", LARGE_BYTES);
        CHECK(conn_push(c, (struct bytes){text, sizeof text}), "push-too-early",
              "conn_push() returned false, and the connection holds %zu bytes",
              buffer_len(&c->out));
    }
    check_step("calls conn_push() with %d bytes, which is too much", LARGE_BYTES);
    bool pushed = conn_push(c, (struct bytes){text, sizeof text});
    CHECK(connections_in_list() == 2, FREED, "conn_push() has freed the connection");
    CHECK(buffer_len(&c->out) <= most + FRAMES_BYTES, BOUND,
          "the connection holds %zu bytes; %zu are allowed", buffer_len(&c->out), most);
    CHECK(!pushed, BOUND, "conn_push() returned true");
    check_step("calls loop_turn()");
    turn();
    CHECK(connections_in_list() == 1, BOUND,
          "the connection should be closed in the next iteration, and is still there");
    end(clients, 2);
}

static void push_without_memory(void)
{
    static const uint8_t text[LARGE_BYTES];
    int clients[2];
    begin(1);
    connect_all(clients, 2);
    accept_all(2);
    struct conn *c = first_conn();
    check_step("calls conn_push() with %d bytes; there is no memory", LARGE_BYTES);
    no_memory_begin();
    bool pushed = conn_push(c, (struct bytes){text, sizeof text});
    int failed = no_memory_end();
    CHECK(connections_in_list() == 2, FREED, "conn_push() has freed the connection");
    if (failed > 0 && buffer_len(&c->out) < sizeof text) {
        CHECK(!pushed, MISSED, "there was no memory for a push, and conn_push() returned true");
        check_step("calls loop_turn()");
        turn();
        CHECK(connections_in_list() == 1, MISSED,
              "there was no memory for a push, and the connection is still there");
    }
    end(clients, 2);
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

static int tasks_left(void)
{
    int count = 0;
    struct task *task;
    for (int i = 0; i < LOOPS; i++) {
        STAILQ_FOREACH (task, &server.workers[i].loop.taken, others)
            count++;
        STAILQ_FOREACH (task, &server.workers[i].loop.tasks, others)
            count++;
    }
    return count;
}

/* Each of these has to go to all loops, and to come back. */
static void broadcasts_on_their_way(void)
{
    int clients[ON_THEIR_WAY];
    begin(LOOPS);
    connect_all(clients, ON_THEIR_WAY);
    accept_all(ON_THEIR_WAY);
    turn_all();
    check_step("calls broadcast_start() for a connection of each loop");
    for (int i = 0; i < LOOPS; i++) {
        struct conn *c = LIST_FIRST(&server.workers[i].conns);
        CHECK(c != NULL, "loop-share", "loop %d has none of %d connections", i, ON_THEIR_WAY);
        CHECK(broadcast_start(c, 1, (struct bytes){(const uint8_t *)"x", 1}), REACH,
              "broadcast_start() returned false");
    }
    check_step("calls acceptor_close() and server_stop()");
    acceptor_close(&acceptor);
    server_stop(&server);
    CHECK(tasks_left() == 0, ARRIVALS, "%d tasks are left in the queues of the loops",
          tasks_left());
    server_close(&server);
    close(listen_fd);
    for (int i = 0; i < ON_THEIR_WAY; i++)
        close(clients[i]);
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

const struct check checks[] = {
    {"on_their_way", on_their_way},
    {"pushes_within_the_budget", pushes_within_the_budget},
    {"arrivals_are_counted", arrivals_are_counted},
    {"refused_arrivals", refused_arrivals},
    {"arrivals_without_memory", arrivals_without_memory},
    {"broadcast_is_queued", broadcast_is_queued},
    {"broadcast_without_memory", broadcast_without_memory},
    {"push_that_closes", push_that_closes},
    {"push_without_memory", push_without_memory},
    {"broadcasts_on_their_way", broadcasts_on_their_way},
    {"stops_together", stops_together},
    {0},
};

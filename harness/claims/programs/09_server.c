/* A server whose loops this program turns itself: none of them has a thread.
 * links: server.c acceptor.c broadcast.c */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "acceptor.h"
#include "backend.h"
#include "check.h"
#include "conn.h"
#include "net.h"
#include "rpc.h"

#define ARRIVALS "stop-in-order"
#define BUDGET   "push-budget"

enum {
    LOOPS = 3,
    ON_THEIR_WAY = 7,
    SENDERS = 32,
    TEXT_BYTES = 32 << 10,
    COUNT_BYTES = 3, /* of the length in front of such a text */
    HEAD_BYTES = 4 + 4 + 4 + COUNT_BYTES,
    PUSH_COST = (1 << 10) + TEXT_BYTES,
    PUSHES_MAX = LOOP_BUDGET_BYTES / PUSH_COST + 1,
    TURNS_MAX = 1000,
    ARRIVES_MS = 5000,
    PAUSE_MS = 1
};

static struct config config = {
    .framing = {.kind = FRAMING_LENGTH},
    .app = APP_RPC,
    .limits = {.high_water = 1 << 20, .low_water = 1 << 19},
};

static struct server server;
static struct acceptor acceptor;
static struct sockaddr_in address;
static int listen_fd;

static void begin(int loops)
{
    socklen_t size = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check_step("calls server_open() for %d loop%s, and acceptor_open()", loops,
               loops == 1 ? "" : "s");
    listen_fd = net_listen(&address);
    if (listen_fd < 0 || getsockname(listen_fd, (struct sockaddr *)&address, &size) != 0)
        check_impossible("no socket that listens: %s", strerror(errno));
    CHECK(server_open(&server, &config, loops, &backend_poll), "module-refuses",
          "server_open() returned false: %s", check_reason());
    CHECK(acceptor_open(&acceptor, &server, listen_fd), "module-refuses",
          "acceptor_open() returned false: %s", check_reason());
}

/* An iteration of the first loop, which does not sleep. */
static void turn(void)
{
    struct loop *loop = &server.workers[0].loop;
    events_wake(loop->events);
    loop_turn(loop);
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
    CHECK(server_counts(&server).connections == count, ARRIVALS,
          "the first loop has counted %d connections", (int)server_counts(&server).connections);
}

static void expect_closed(int client, int number)
{
    struct pollfd ready = {.fd = client, .events = POLLIN};
    char byte;
    bool ended = poll(&ready, 1, ARRIVES_MS) == 1 && recv(client, &byte, 1, MSG_DONTWAIT) <= 0;
    CHECK(ended, ARRIVALS, "client %d of %d was on its way to its loop, and its connection is open",
          number, ON_THEIR_WAY);
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
    CHECK(server_counts(&server).sent == due, BUDGET, "%d replies and pushes were made; due are %d",
          (int)server_counts(&server).sent, (int)due);
    check_step("calls acceptor_close(), conn_close_all() and server_close()");
    acceptor_close(&acceptor);
    conn_close_all(&server.workers[0]);
    server_close(&server);
    close(listen_fd);
    for (int i = 0; i < SENDERS; i++)
        close(clients[i]);
}

const struct check checks[] = {
    {"on_their_way", on_their_way},
    {"pushes_within_the_budget", pushes_within_the_budget},
    {0},
};

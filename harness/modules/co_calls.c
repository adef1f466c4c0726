#include "co_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

enum { LOOKS = 2000 };

void (*co_calls_look)(int fd, const char *function);

static void look(int fd, const char *function)
{
    if (co_calls_look != NULL)
        co_calls_look(fd, function);
}

int new_tcp_socket(bool nonblocking)
{
    int fd = socket(AF_INET, SOCK_STREAM | (nonblocking ? SOCK_NONBLOCK : 0), 0);
    if (fd < 0)
        check_impossible("socket: %s", strerror(errno));
    return fd;
}

/* Accepting */

static void accept_all(void *argument)
{
    struct acceptor *a = argument;
    int fds[CLIENTS_MAX];
    while (!a->ends) {
        int count = co_accept(&a->socket, fds, a->most);
        a->error = errno;
        look(a->socket.watch.fd, "co_accept()");
        EXPECT(count <= a->most, "co_accept() returned %d clients; allowed are %d", count, a->most);
        for (int i = 0; i < count && a->count < CLIENTS_MAX; i++)
            a->clients[a->count++] = fds[i];
        a->batch = count > a->batch ? count : a->batch;
        a->none += count == NET_NONE;
        a->full += count == NET_FULL;
        if (count == NET_FULL)
            co_park(-1);
    }
    a->co = NULL;
}

void acceptor_begin(struct acceptor *a, const char *hint, int most)
{
    socklen_t size = sizeof a->address;
    co_io_case_begin(hint);
    *a = (struct acceptor){.address = {.sin_family = AF_INET}, .most = most};
    a->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = net_listen(&a->address);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a->address, &size) != 0)
        check_impossible("cannot listen: %s", strerror(errno));
    pair_set_nonblocking(fd);
    co_socket_init(&a->socket, fd, watched_events);
    check_step("has a coroutine call co_accept() again and again");
    a->co = co_case_start("accepts", accept_all, a);
    co_io_case_settle();
    EXPECT(a->count == 0 && a->full == 0, "no client has connected, but co_accept() returned %s",
           a->full > 0 ? "NET_FULL" : "a client");
}

void acceptor_connect(struct acceptor *a, int count)
{
    check_step("connects %d client%s", count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        int fd = new_tcp_socket(false);
        if (connect(fd, (struct sockaddr *)&a->address, sizeof a->address) != 0)
            check_impossible("connect: %s", strerror(errno));
        a->own[a->own_count++] = fd;
    }
}

void acceptor_expect(struct acceptor *a, int due)
{
    RUN_UNTIL(a->count >= due, LOOKS);
    EXPECT(a->count == due, "%d client%s connected, but %d were accepted", due, due == 1 ? "" : "s",
           a->count);
    co_io_case_settle();
    EXPECT(a->count == due, "%d client%s connected, but %d were accepted", due, due == 1 ? "" : "s",
           a->count);
    EXPECT(a->none <= 2 * due + 2, "co_accept() found no client %d times, but %d clients came",
           a->none, due);
}

void acceptor_end(struct acceptor *a)
{
    a->ends = true;
    check_step("calls co_cancel()");
    co_cancel(a->co);
    RUN_UNTIL(a->co == NULL, LOOKS);
    EXPECT(a->co == NULL, "co_cancel() was called, but co_accept() still waits");
    co_forget(&a->socket);
    while (a->own_count > 0)
        close(a->own[--a->own_count]);
    while (a->count > 0)
        close(a->clients[--a->count]);
    close(a->socket.watch.fd);
    co_io_case_end();
}

void clients_in_groups(const char *hint)
{
    static const int groups[] = {1, 3, 1, 5};
    struct acceptor a;
    acceptor_begin(&a, hint, MOST);
    for (int i = 0; i < 4; i++) {
        acceptor_connect(&a, groups[i]);
        acceptor_expect(&a, a.own_count);
    }
    EXPECT(a.batch > 1,
           "%d clients waited at the same time, but co_accept() never returned more than one",
           groups[3]);
    check_step("calls co_wake()");
    co_wake(a.co);
    co_io_case_settle();
    EXPECT(a.full == 0,
           "co_accept() returned NET_FULL, but there were free descriptors; NET_NONE is due");
    acceptor_end(&a);
}

/* Connecting */

static void connect_once(void *argument)
{
    struct caller *c = argument;
    c->result = co_connect(&c->socket, &c->address);
    c->error = errno;
    look(c->socket.watch.fd, "co_connect()");
    c->over = true;
}

void caller_begin(struct caller *c, const struct sockaddr_in *address, const char *whom)
{
    *c = (struct caller){.address = *address};
    co_socket_init(&c->socket, new_tcp_socket(true), watched_events);
    check_step("has a coroutine call co_connect()%s", whom);
    c->co = co_case_start("connects", connect_once, c);
}

void caller_expect(struct caller *c, enum io_result due)
{
    RUN_UNTIL(c->over, LOOKS);
    EXPECT(c->over, "a coroutine still waits in co_connect(); %s is due",
           co_io_case_result_name(due));
    EXPECT(c->result == due, "co_connect() returned %s; due is %s",
           co_io_case_result_name(c->result), co_io_case_result_name(due));
}

void caller_expect_error(struct caller *c, int error)
{
    caller_expect(c, IO_ERROR);
    EXPECT(c->error == error, "co_connect() returned IO_ERROR with errno %d (%s); due is %d (%s)",
           c->error, strerror(c->error), error, strerror(error));
}

void caller_expect_waiting(struct caller *c)
{
    co_io_case_settle();
    EXPECT(!c->over, "no answer came, but co_connect() returned %s",
           co_io_case_result_name(c->result));
}

void caller_end(struct caller *c)
{
    co_forget(&c->socket);
    close(c->socket.watch.fd);
}

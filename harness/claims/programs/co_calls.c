#include "co_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"

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
        CHECK(count <= a->most, "co-accept", "co_accept() returned %d clients; allowed are %d",
              count, a->most);
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

void acceptor_begin(struct acceptor *a)
{
    socklen_t size = sizeof a->address;
    co_io_case_begin();
    *a = (struct acceptor){.address = {.sin_family = AF_INET}, .most = MOST};
    a->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = net_listen(&a->address);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&a->address, &size) != 0)
        check_impossible("cannot listen: %s", strerror(errno));
    pair_set_nonblocking(fd);
    co_socket_init(&a->socket, fd, watched_events);
    a->co = co_case_start("accepts", accept_all, a);
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

void acceptor_end(struct acceptor *a, const char *hint)
{
    a->ends = true;
    check_step("calls co_cancel()");
    co_cancel(a->co);
    for (int i = 0; i < RUNS && a->co != NULL; i++)
        co_io_case_settle(hint);
    CHECK(a->co == NULL, hint, "co_cancel() was called, but co_accept() still waits");
    co_forget(&a->socket);
    while (a->own_count > 0)
        close(a->own[--a->own_count]);
    while (a->count > 0)
        close(a->clients[--a->count]);
    close(a->socket.watch.fd);
    co_io_case_end();
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

void caller_end(struct caller *c)
{
    co_forget(&c->socket);
    close(c->socket.watch.fd);
}

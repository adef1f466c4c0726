/* Coroutines that wait for clients.
 * links: co_io.c co.c context.c? stack.c timers.c buffer.c io.c net.c log.c
 * links: events.c backend_select.c backend_poll.c backend_epoll.c */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "co_io_case.h"
#include "net.h"

#define ACCEPT "co-accept"

enum { CLIENTS = 10, LOOKS = 200, LOOK_NS = 1000 * 1000 };

struct acceptor {
    struct co_socket socket;
    int clients[CLIENTS];
    int count;
    int nobody; /* calls of co_accept that have found none */
    int full;
    bool ends;
};

static void accept_all(void *argument)
{
    struct acceptor *a = argument;
    while (!a->ends) {
        int fd = co_accept(&a->socket);
        if (fd >= 0 && a->count < CLIENTS)
            a->clients[a->count++] = fd;
        else if (fd == NET_FULL)
            a->full++;
        else
            a->nobody++;
        if (fd == NET_FULL)
            co_park(-1);
    }
}

static bool no_descriptor_left;

/* Replaces that of the C library, to simulate the lack of a descriptor: under valgrind a real lack
 * would lose the client. */
int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (!no_descriptor_left)
        return (int)syscall(SYS_accept4, fd, address, size, flags);
    errno = EMFILE;
    return -1;
}

/* The same without flags. */
int accept(int fd, struct sockaddr *address, socklen_t *size)
{
    return accept4(fd, address, size, 0);
}

static int own[CLIENTS]; /* their ends */
static int own_count;

static void connect_some(struct sockaddr_in *address, int count)
{
    check_step("connects %d client%s", count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)address, sizeof *address) != 0)
            check_impossible("connect: %s", strerror(errno));
        own[own_count++] = fd;
    }
}

static void expect_accepted(struct acceptor *a, int due)
{
    for (int i = 0; i < LOOKS && a->count < due; i++) {
        struct timespec pause = {.tv_nsec = LOOK_NS};
        co_io_case_turn();
        if (!co_is_ready(co_case_scheduler))
            nanosleep(&pause, NULL);
    }
    CHECK(a->count == due, ACCEPT, "%d clients connected, but %d were accepted", due, a->count);
    co_io_case_settle(ACCEPT);
    CHECK(a->nobody <= 2 * due + 2, ACCEPT,
          "co_accept() found no client %d times, but %d clients came", a->nobody, due);
}

static int listen_somewhere(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = net_listen(address);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)address, &size) != 0)
        check_impossible("cannot listen: %s", strerror(errno));
    pair_set_nonblocking(fd);
    return fd;
}

/* A coroutine that accepts at a listening socket, and what it is made of. */
struct scene {
    struct acceptor acceptor;
    struct sockaddr_in address; /* where it listens */
    struct coroutine *co;
};

static void begin_accepting(struct scene *scene)
{
    *scene = (struct scene){0};
    co_io_case_begin();
    int fd = listen_somewhere(&scene->address);
    co_socket_init(&scene->acceptor.socket, fd, co_io_case_events);
    scene->co = co_case_start("accepts", accept_all, &scene->acceptor);
    co_io_case_settle(ACCEPT);
}

static void end_accepting(struct scene *scene)
{
    struct acceptor *a = &scene->acceptor;
    a->ends = true;
    co_cancel(scene->co);
    co_io_case_settle(ACCEPT);
    co_forget(&a->socket);
    while (own_count > 0)
        close(own[--own_count]);
    while (a->count > 0)
        close(a->clients[--a->count]);
    close(a->socket.fd);
    co_io_case_end();
}

static void accepts(void)
{
    static const int groups[] = {1, 3, 1, 5};
    struct scene scene;
    begin_accepting(&scene);
    CHECK(scene.acceptor.count == 0, ACCEPT,
          "co_accept() returned a client, but none had connected");
    for (int i = 0; i < 4; i++) {
        connect_some(&scene.address, groups[i]);
        expect_accepted(&scene.acceptor, own_count);
    }
    check_step("calls co_wake()");
    co_wake(scene.co);
    co_io_case_settle(ACCEPT);
    CHECK(scene.acceptor.full == 0, ACCEPT,
          "co_accept() returned NET_FULL, but there were free descriptors; NET_NONE is due");
    check_step("calls co_cancel()");
    end_accepting(&scene);
}

/* There is a client, and no descriptor for it; later there is one, and no other client comes. */
static void no_descriptor(void)
{
    struct scene scene;
    begin_accepting(&scene);
    connect_some(&scene.address, 1);
    check_step("has no descriptor left for a client that connected");
    no_descriptor_left = true;
    for (int i = 0; i < LOOKS && scene.acceptor.full == 0; i++) {
        struct timespec pause = {.tv_nsec = LOOK_NS};
        co_io_case_turn();
        nanosleep(&pause, NULL);
    }
    no_descriptor_left = false;
    CHECK(scene.acceptor.full == 1, ACCEPT, "co_accept() did not return NET_FULL");
    check_step("has free descriptors again");
    co_wake(scene.co);
    expect_accepted(&scene.acceptor, 1);
    end_accepting(&scene);
}

static void clients(void)
{
    accepts();
    no_descriptor();
}

const struct check checks[] = {
    {"clients", clients},
    {"accepts", accepts}, /* without accept(), which no_descriptor() replaces */
    {0},
};

/*
 * What the servers in C share: a listening socket, the end by a signal, and the bytes of one
 * connection. They take a port; the options and the log of the lab's own servers are left out.
 *
 * A frame is its own reply, so a connection has one buffer for both directions:
 *
 *        start            whole            end           cap
 *     ...| complete frames, | the beginning  | free space  |
 *        | that are owed    | of another one | for input   |
 *
 * Nothing is read while a reply is owed. So the buffer is never longer than a frame and what its
 * last read brought; when it is empty it is freed. Memory grows with what has arrived.
 */
#ifndef ECHO_H
#define ECHO_H

#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LARGEST_BYTES (32u << 20)
#define PREFIX_BYTES  4u

enum { SPARE_BYTES = 8 << 10 };     /* so that a buffer does not grow for the first few bytes */
enum { PAUSE_MS = 100 };            /* before the next accept() when no descriptor was left */
enum { NOBODY = -1, NO_ROOM = -2 }; /* what accept_next() says instead of a descriptor */

/* What an unusual server does differently. */
#ifndef CHUNK_BYTES
#define CHUNK_BYTES (64u << 10) /* at most, of one recv() */
#endif
#ifndef RECV_BYTES
#define RECV_BYTES(c) CHUNK_BYTES /* of the next one */
#endif
#ifndef READS_A_TURN
#define READS_A_TURN 1 /* before the replies to what they brought are sent */
#endif
#ifndef WRITE_BYTES
#define WRITE_BYTES SIZE_MAX /* at most, of one send() */
#endif
#ifndef KEPT_BYTES
#define KEPT_BYTES 0 /* a buffer that is no longer is kept, and all of it has been written to */
#endif
#ifndef ON_FRAME
#define ON_FRAME(fd, length) ((void)0)
#endif

struct conn {
    int fd;
    bool ending; /* nothing more is read: its input has ended, or a frame was too long */
    uint8_t *data;
    size_t start, whole, end, cap;
    /* Of epoll_edge.c alone. */
    uint32_t ready;
    bool queued;
    struct conn *next;
};

__attribute__((noreturn)) static inline void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* A socket that listens on 127.0.0.1 and does not block. */
static inline int listen_on(const char *port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port ? port : "1234")),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, SOMAXCONN) < 0)
        fail("listen");
    return fd;
}

/* A descriptor that is readable when SIGTERM, SIGINT or SIGCHLD has come. They do nothing else from
 * now on, nor in threads and children that are started later. */
static inline int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    int fd = sigprocmask(SIG_BLOCK, &set, NULL) ? -1 : signalfd(-1, &set, SFD_NONBLOCK);
    if (fd < 0)
        fail("signalfd");
    return fd;
}

/* Whether one of the signals says that the server has to stop. */
static inline bool told_to_stop(int signals)
{
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            return true;
    return false;
}

/* The next client that waits. `flags` are those of its socket: SOCK_NONBLOCK or 0. */
static inline int accept_next(int listener, int flags)
{
    for (;;) {
        int on = 1, fd = accept4(listener, NULL, NULL, flags | SOCK_CLOEXEC);
        if (fd >= 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return fd;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            return NOBODY;
        if (errno != EINTR && errno != ECONNABORTED)
            return NO_ROOM;
    }
}

static inline bool owes(const struct conn *c)
{
    return c->start < c->whole;
}

/* Gives the memory of an empty buffer back. */
static inline void finish_turn(struct conn *c)
{
    if (c->start < c->end)
        return;
    c->start = c->whole = c->end = 0;
    if (c->cap <= KEPT_BYTES)
        return;
    free(c->data);
    c->data = NULL;
    c->cap = 0;
}

/* Space for one more recv(). Leftover bytes move to the front: they are part of a frame, and came
 * with the last read if anything was before them. */
static inline bool make_room(struct conn *c)
{
    if (!owes(c) && c->start > 0) {
        memmove(c->data, c->data + c->start, c->end - c->start);
        c->end -= c->start;
        c->start = c->whole = 0;
    }
    if (c->cap - c->end >= CHUNK_BYTES)
        return true;
    size_t cap = c->cap == 0 ? CHUNK_BYTES + SPARE_BYTES : 2 * c->cap;
    uint8_t *data = realloc(c->data, cap);
    if (data == NULL)
        return false;
    if (cap <= KEPT_BYTES)
        memset(data + c->cap, 0, cap - c->cap);
    c->data = data;
    c->cap = cap;
    return true;
}

/* One recv(), and a look at what is complete then. Returns what recv() did; -1 leaves errno. */
static inline ssize_t conn_read(struct conn *c)
{
    if (!make_room(c))
        return errno = ENOMEM, -1;
    ssize_t n = recv(c->fd, c->data + c->end, RECV_BYTES(c), 0);
    if (n < 0)
        return n;
    c->end += (size_t)n;
    c->ending = n == 0;
    while (!c->ending && c->end - c->whole >= PREFIX_BYTES) {
        const uint8_t *b = c->data + c->whole;
        uint32_t length = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
        c->ending = length > LARGEST_BYTES;
        if (c->ending || c->end - c->whole - PREFIX_BYTES < length)
            break;
        ON_FRAME(c->fd, length);
        c->whole += PREFIX_BYTES + (size_t)length;
    }
    return n;
}

/* One send() of what is owed, as conn_read(). */
static inline ssize_t conn_write(struct conn *c)
{
    size_t size = c->whole - c->start;
    ssize_t n =
        send(c->fd, c->data + c->start, size < WRITE_BYTES ? size : WRITE_BYTES, MSG_NOSIGNAL);
    if (n > 0)
        c->start += (size_t)n;
    return n;
}

/* Whether the connection is well after a recv() or send() that returned `n`. */
static inline bool is_well(ssize_t n)
{
    return n >= 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Reads, unless something is owed, and sends until nothing is or no more is taken. Where the socket
 * blocks, so does this. False: the connection is over. */
static inline bool conn_turn(struct conn *c)
{
    ssize_t n = 1;
    if (!owes(c))
        for (int i = 0; i < READS_A_TURN && n > 0 && !c->ending; i++)
            n = conn_read(c);
    bool well = is_well(n);
    for (n = 1; well && n > 0 && owes(c);) {
        n = conn_write(c);
        well = is_well(n);
    }
    finish_turn(c);
    return well && !(c->ending && !owes(c));
}

/* All connections of an event loop, by descriptor; NULL where there is none. */
static struct conn **conns;
static int conns_end;

/* Takes over a socket. NULL: no memory for it, and it is closed. */
static inline struct conn *conn_open(int fd)
{
    if (fd >= conns_end) {
        int end = 2 * fd + 64;
        struct conn **larger = realloc(conns, (size_t)end * sizeof *conns);
        if (larger == NULL)
            return close(fd), NULL;
        memset(larger + conns_end, 0, (size_t)(end - conns_end) * sizeof *conns);
        conns = larger;
        conns_end = end;
    }
    struct conn *c = conns[fd] = calloc(1, sizeof *c);
    if (c == NULL)
        return close(fd), NULL;
    c->fd = fd;
    return c;
}

static inline void conn_close(struct conn *c)
{
    conns[c->fd] = NULL;
    close(c->fd);
    free(c->data);
    free(c);
}

static inline void close_all(void)
{
    for (int fd = 0; fd < conns_end; fd++)
        if (conns[fd])
            conn_close(conns[fd]);
    free(conns);
}

#endif

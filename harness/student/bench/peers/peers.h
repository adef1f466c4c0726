/*
 * What the servers of the benchmark share: how they start, and the bytes of a connection.
 *
 * They serve the clients of the benchmark well, and no others: without memory or descriptors they
 * end, and a frame that is too long ends its connection.
 *
 * A frame is its own reply, so one buffer serves both directions:
 *
 *     data      start            whole             end           cap
 *     |  sent     | complete frames, | the beginning | free space  |
 *     |           | that are owed    | of a frame    | for input   |
 *
 * All connections share one read buffer. A connection has a buffer of its own only while something
 * is left over after a read and a write. As long as a reply is owed nothing more is read.
 */
#ifndef PEERS_H
#define PEERS_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 4,
    MAX_FRAME_BYTES = 32 << 20, /* of the body */
    READ_BYTES = 256 << 10,     /* of one read, at most */
    READS_A_TURN = 4,           /* of one client: then it is the turn of others */
    BACKLOG = 1024
};

struct buffer {
    uint8_t *data;
    size_t start, whole, end, cap;
};

static uint8_t read_bytes[READ_BYTES];
static struct buffer shared;

_Noreturn static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* Reads the command line, PROGRAM -p PORT. Returns a socket that listens, and does not block. */
static inline int start(int argc, char **argv)
{
    if (argc != 3 || strcmp(argv[1], "-p") != 0)
        die("usage", "PROGRAM -p PORT");
    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max; /* 1024 descriptors are too few */
    setrlimit(RLIMIT_NOFILE, &limit);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(argv[2])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0)
        die("listen", strerror(errno));
    return fd;
}

/* Returns true if a read, a write or an accept has failed for now only. */
static inline bool passes(int error)
{
    return error == EAGAIN || error == EINTR || error == ECONNABORTED;
}

/* The next client that waits, or -1 if there is none. */
static inline int accept_next(int listener)
{
    int on = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && !passes(errno))
        die("accept", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static inline uint32_t frame_length(const uint8_t *header)
{
    uint32_t length;
    memcpy(&length, header, sizeof length);
    return le32toh(length);
}

/* How many bytes of replies it holds. */
static inline size_t owed(const struct buffer *b)
{
    return b->whole - b->start;
}

/* Returns where the next read goes, with READ_BYTES of space: to `own` if something is left there,
 * else to `shared`. Space doubles, so the cost of a byte does not depend on their number. */
static inline struct buffer *for_input(struct buffer *own)
{
    if (own->data == NULL) {
        shared = (struct buffer){.data = read_bytes, .cap = READ_BYTES};
        return &shared;
    }
    memmove(own->data, own->data + own->start, own->end - own->start);
    own->end -= own->start;
    own->start = own->whole = 0; /* nothing was owed */
    if (own->cap - own->end < READ_BYTES) {
        size_t least = own->end + READ_BYTES;
        own->cap = 2 * own->cap > least ? 2 * own->cap : least;
        own->data = realloc(own->data, own->cap);
        if (own->data == NULL)
            die("realloc", strerror(errno));
    }
    return own;
}

/* Finds the frames that are complete now. False: behind them is one that is too long. */
static inline bool find_frames(struct buffer *b)
{
    while (b->end - b->whole >= HEADER_BYTES) {
        uint32_t length = frame_length(b->data + b->whole);
        if (length > MAX_FRAME_BYTES)
            return false;
        if (b->end - b->whole - HEADER_BYTES < length)
            break;
        b->whole += HEADER_BYTES + (size_t)length;
    }
    return true;
}

/* Keeps in `own` what is left in `b`, which is `own` or `shared`. */
static inline void keep(struct buffer *own, const struct buffer *b)
{
    size_t left = b->end - b->start;
    if (b == own && left > 0)
        return;
    uint8_t *data = left > 0 ? malloc(left) : NULL;
    if (left > 0) {
        if (data == NULL)
            die("malloc", strerror(errno));
        memcpy(data, b->data + b->start, left);
    }
    if (b == own)
        free(own->data);
    *own = (struct buffer){data, 0, owed(b), left, left};
}

/* Writes once what is owed. False: the connection is broken. */
static inline bool flush(int fd, struct buffer *b)
{
    ssize_t n = owed(b) > 0 ? write(fd, b->data + b->start, owed(b)) : 0;
    b->start += n > 0 ? (size_t)n : 0;
    return n >= 0 || passes(errno);
}

/* Serves a socket that is ready: sends what is owed, then reads and answers until there is no more,
 * which a short read shows, or a reply has to wait. `framed`: only complete frames are answered.
 * False: the connection is over. */
static inline bool serve(int fd, struct buffer *own, bool framed)
{
    if (!flush(fd, own))
        return false;
    if (own->data != NULL)
        keep(own, own);
    ssize_t n = READ_BYTES;
    for (int i = 0; i < READS_A_TURN && n == READ_BYTES && owed(own) == 0; i++) {
        struct buffer *b = for_input(own);
        n = read(fd, b->data + b->end, READ_BYTES);
        if (n <= 0)
            return n < 0 && passes(errno);
        b->end += (size_t)n;
        if (!framed)
            b->whole = b->end;
        else if (!find_frames(b))
            return false;
        if (!flush(fd, b))
            return false;
        keep(own, b);
    }
    return true;
}

#endif

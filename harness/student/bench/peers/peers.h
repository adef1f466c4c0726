/*
 * What the servers of the benchmark share: how they start and stop, and a buffer for frames.
 *
 * A frame is its own reply, so one buffer serves both directions:
 *
 *     data      start            whole             end           cap
 *     |  sent     | complete frames, | the beginning | free space  |
 *     |           | that are owed    | of a frame    | for input   |
 *
 * There is one read buffer for all connections; a connection gets a buffer of its own for what is
 * left over after a read and a write, and loses it when nothing is left.
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
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES     4u
#define MAX_FRAME_BYTES  (32u << 20)  /* of the body */
#define READ_BYTES       (256u << 10) /* of one read */
#define HIGH_WATER_BYTES (1u << 20)   /* of output that waits: above it nothing more is read */
#define TRIM_BYTES       (4u << 20)   /* a buffer up to this size is not worth shrinking */

enum { BACKLOG = 1024 };
enum { PAUSE_MS = 100 }; /* before the next accept() when no descriptor was left */

__attribute__((noreturn)) static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static inline void stop(int number)
{
    (void)number;
    _exit(0);
}

/* Reads the command line, and sees to the signals. Returns the address to listen on. */
static inline struct sockaddr_in start(int argc, char **argv)
{
    if (argc != 3 || strcmp(argv[1], "-p") != 0)
        die("usage", "PROGRAM -p PORT");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(argv[2])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A socket that listens, and does not block. */
static inline int listen_on(struct sockaddr_in address)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, BACKLOG) < 0)
        die("listen", strerror(errno));
    return fd;
}

/* Says where it listens. */
static inline void announce(int fd)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        die("getsockname", strerror(errno));
    printf("listening on 127.0.0.1:%u\n", (unsigned)ntohs(address.sin_port));
    fflush(stdout);
}

/* The next client that waits, or -1 with the reason in errno. */
static inline int accept_next(int listener)
{
    int on = 1, fd;
    do
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Whether a read or a write failed for now only. */
static inline bool passes(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static inline uint32_t frame_length(const uint8_t *header)
{
    uint32_t length;
    memcpy(&length, header, sizeof length);
    return le32toh(length);
}

struct buffer {
    uint8_t *data;
    size_t start, whole, end, cap;
};

/* How many bytes of replies it holds. */
static inline size_t buffer_owed(const struct buffer *b)
{
    return b->whole - b->start;
}

/* Moves what is not sent yet to the front. */
static inline void buffer_slide(struct buffer *b)
{
    memmove(b->data, b->data + b->start, b->end - b->start);
    b->whole -= b->start;
    b->end -= b->start;
    b->start = 0;
}

/* Makes space for one more read. It slides over no more bytes than were sent, and doubles: so the
 * cost of a byte does not depend on their number. False: no memory. */
static inline bool buffer_reserve(struct buffer *b)
{
    if (b->cap - b->end >= READ_BYTES)
        return true;
    if (b->start >= b->end - b->start && b->start > 0)
        buffer_slide(b);
    if (b->cap - b->end >= READ_BYTES)
        return true;
    size_t cap = 2 * b->cap > b->end + READ_BYTES ? 2 * b->cap : b->end + READ_BYTES;
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL)
        return false;
    b->data = data;
    b->cap = cap;
    return true;
}

/* Finds the frames that are complete now. False: behind them is one that is too long. */
static inline bool buffer_find_frames(struct buffer *b)
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

/* Puts a copy of what is left in `from` into `b`, which is empty. False: no memory. */
static inline bool buffer_copy(struct buffer *b, const struct buffer *from)
{
    size_t size = from->end - from->start;
    if (size == 0)
        return true;
    uint8_t *data = malloc(size);
    if (data == NULL)
        return false;
    memcpy(data, from->data + from->start, size);
    *b = (struct buffer){data, 0, buffer_owed(from), size, size};
    return true;
}

static inline void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}

/* Gives back the memory that is no longer needed. */
static inline void buffer_trim(struct buffer *b)
{
    size_t size = b->end - b->start;
    if (size == 0) {
        buffer_free(b);
    } else if (b->cap > TRIM_BYTES && size <= b->cap / 4) {
        buffer_slide(b);
        uint8_t *data = realloc(b->data, size);
        if (data != NULL) {
            b->data = data;
            b->cap = size;
        }
    }
}

#endif

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 256 << 10 };

static uint8_t input[READ_BYTES]; /* of the client that reads: nothing stays here */

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("{\"errors\": 1, \"error\": \"");
    vprintf(format, arguments);
    printf("\"}\n");
    va_end(arguments);
    exit(1);
}

void client_open(struct client *c, struct shared *shared, unsigned number, unsigned depth,
                 uint64_t wanted)
{
    *c = (struct client){.shared = shared, .number = number, .depth = depth, .wanted = wanted};
    c->marks = calloc(depth, sizeof *c->marks);
    if (c->marks == NULL)
        fail("client %u: out of memory", number);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        fail("client %u: socket: %s", number, strerror(errno));
    if (connect(c->fd, (const struct sockaddr *)&shared->address, sizeof shared->address) < 0)
        fail("client %u: connect: %s", number, strerror(errno));
    int one = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
}

void client_close(struct client *c)
{
    close(c->fd);
    free(c->marks);
}

/* Notes when the sending of the frames began that `sent` bytes reach into. */
static void mark(struct client *c, uint64_t sent, uint64_t now)
{
    uint64_t begun = (sent + c->shared->stream.frame - 1) / c->shared->stream.frame;
    uint64_t before = c->first == c->last ? c->timed : c->marks[(c->last - 1) % c->depth].end;
    if (begun > before)
        c->marks[c->last++ % c->depth] = (struct mark){begun, now};
}

void client_send(struct client *c, uint64_t now)
{
    const struct stream *stream = &c->shared->stream;
    uint64_t frames = c->received / stream->frame + c->depth;
    uint64_t limit = (frames < c->wanted ? frames : c->wanted) * stream->frame;
    c->blocked = false;
    while (c->sent < limit && !c->blocked) {
        size_t size;
        const uint8_t *bytes = stream_at(stream, c->number, c->sent, &size);
        if (size > limit - c->sent)
            size = limit - c->sent;
        ssize_t n = send(c->fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            fail("client %u: send: %s", c->number, strerror(errno));
        if (n > 0) {
            c->sent += (uint64_t)n;
            mark(c, c->sent, now);
        }
        c->blocked = n < (ssize_t)size;
    }
}

/* Counts the latency of all frames that are back. */
static void time_frames(struct client *c, uint64_t now)
{
    uint64_t back = c->received / c->shared->stream.frame;
    while (c->timed < back) {
        const struct mark *mark = &c->marks[c->first % c->depth];
        uint64_t end = mark->end < back ? mark->end : back;
        if (c->shared->counting)
            histogram_add(&c->shared->latencies, now - mark->ns, end - c->timed);
        if (end == mark->end)
            c->first++;
        c->timed = end;
    }
}

void client_receive(struct client *c)
{
    ssize_t n = read(c->fd, input, sizeof input);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0)
        fail("client %u: read: %s", c->number, strerror(errno));
    if (n == 0)
        fail("client %u: the server closed the connection", c->number);
    size_t size = (size_t)n;
    if (c->received + size > c->sent)
        fail("client %u: more came back than was sent", c->number);
    size_t right = stream_differs(&c->shared->stream, c->number, c->received, input, size);
    if (right < size)
        fail("client %u: byte %llu of what came back is wrong", c->number,
             (unsigned long long)(c->received + right));
    c->received += size;
    if (c->shared->counting)
        c->shared->received += size;
    uint64_t now = now_ns();
    time_frames(c, now);
    client_send(c, now);
}

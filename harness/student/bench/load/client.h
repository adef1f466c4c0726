/* One client: keeps its frames in flight, checks what comes back, and notes how long that took. */
#ifndef CLIENT_H
#define CLIENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "stream.h"

/* What all clients of a run share. One thread uses it. */
struct shared {
    struct sockaddr_in address;
    struct stream stream;
    bool counting; /* what follows is counted now */
    struct histogram latencies;
    uint64_t received; /* bytes, by all clients */
};

/* Frames whose sending began at `ns`: those up to number `end`, after the ones of the mark
 * before. */
struct mark {
    uint64_t end;
    uint64_t ns;
};

struct client {
    struct shared *shared; /* borrowed */
    int fd;                /* nonblocking; owned */
    unsigned number;
    unsigned depth;     /* frames in flight, at most */
    uint64_t wanted;    /* frames; after these it is idle */
    bool blocked;       /* the kernel took less than there was to send */
    uint64_t sent;      /* bytes */
    uint64_t received;  /* bytes, all of them as expected */
    uint64_t timed;     /* frames whose latency has been counted */
    struct mark *marks; /* a ring of `depth`, in the order of sending */
    uint64_t first;     /* marks[first % depth] to marks[(last - 1) % depth] are in use */
    uint64_t last;
};

/* Connects; sends nothing yet. Every function here ends the program, by fail(), when something goes
 * wrong. */
void client_open(struct client *c, struct shared *shared, unsigned number, unsigned depth,
                 uint64_t wanted);
void client_close(struct client *c);

/* Sends until `depth` frames are in flight or the kernel takes no more (`blocked`). */
void client_send(struct client *c, uint64_t now_ns);

/* Reads once, up to 256 KiB; checks every byte, counts every frame. `now_ns` of its own. */
void client_receive(struct client *c);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);

/* Prints {"error": "..."} with this text, printf-like, and ends with status 1. */
_Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...);

#endif

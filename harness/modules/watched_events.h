/* An event manager on a backend that is looked at: what it is told, and what is ready. */
#ifndef GRADER_WATCHED_EVENTS_H
#define GRADER_WATCHED_EVENTS_H

#include <stdatomic.h>

#include "check.h"
#include "events.h"

extern struct events *watched_events;
extern atomic_int watched_waits; /* of the backend, that have begun */
extern int watched_timeout_ms;   /* what the last one was told */
extern int watched_ready;        /* watched descriptors that were ready after the last one */
extern int watched_sets;         /* calls of set */
extern bool watched_refuses;     /* to add and to set, with ENOSPC */

/* Makes a manager on the backend that the claim has named. */
void watched_begin(void);

/* The end of a check: frees the manager, and closes every pair. */
void watched_end(void);

/* The hint when a function of the module fails: epoll_ctl() says by errno what is wrong. */
const char *watched_hint(const char *otherwise);

/* The backend was told last to watch the descriptor for this. 0: only errors, or nothing. */
void watched_expect_interest(int fd, unsigned due, const char *hint);

/* A descriptor that is `fd`, or the first free one after it, and its peer. */
struct pair {
    int fd;
    int peer;
};

struct pair pair_new(int fd);

/* One end; the others are closed by watched_end. */
void pair_close(int fd);

void pair_set_nonblocking(int fd);

#endif

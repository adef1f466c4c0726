/* An event manager on a backend that is looked at: what it is told, what is ready, and which
 * callbacks come of it. */
#ifndef GRADER_WATCHED_EVENTS_H
#define GRADER_WATCHED_EVENTS_H

#include <stdatomic.h>

#include "check.h"
#include "events.h"

/* The backend */

extern const struct backend *watched_backend; /* the real one, behind the one that looks */
extern atomic_int watched_waits;              /* that have begun */
extern int watched_timeout_ms;                /* what the last one was told */
extern int watched_ready;    /* of the descriptors that the backend watches, after the last wait */
extern bool watched_refuses; /* to add and to set, with ENOSPC */
extern int watched_sets;     /* calls of set */

extern struct events *watched_events;

/* Makes a manager on the backend that the claim has named. */
void watched_begin(void);

/* The end of a check: frees the manager, and closes every pair. */
void watched_end(void);

/* What the backend was told last to watch: EVENT_READ and EVENT_WRITE as bits. 0: only errors, or
 * nothing at all. */
unsigned watched_interest(int fd);

/* Descriptors */

/* A descriptor that is `fd`, or the first free one after it, and its peer. */
struct pair {
    int fd;
    int peer;
};

struct pair pair_new(int fd);

/* One end; the others are closed by watched_end. */
void pair_close(int fd);

void pair_make_readable(struct pair pair);
void pair_set_nonblocking(int fd);
void pair_read_all(int fd);

/* Fills what is between the two, so that the descriptor is not writable any more. */
void pair_fill(int fd);

/* Watches */

/* A watch, and what its callback was told. */
struct heard {
    struct watch watch; /* the first member: a callback gets its address */
    int calls;
    unsigned what; /* of the last call */
};

/* Its callback reads everything, so that more input is reported again. */
struct heard heard_new(int fd);

/* Notes the call. For a callback: the watch is the first member of what is returned. */
struct heard *heard_note(struct watch *watch, unsigned what);

/* "EVENT_READ | EVENT_HANGUP". Good until the function has been called four times more. */
const char *watched_names_of(unsigned what);

bool watched_try_add(struct watch *watch, unsigned interest);
void watched_add(struct watch *watch, unsigned interest);
bool watched_try_set(struct watch *watch, unsigned interest);
void watched_set(struct watch *watch, unsigned interest);
void watched_del(struct watch *watch);
void watched_again(struct watch *watch);

/* One iteration that does not sleep. */
void watched_turn(void);

/* As many iterations as it takes until the backend reports nothing more; some always do. */
void watched_turns(void);

void watched_expect_interest(int fd, unsigned due, const char *hint);

/* The watch was called `calls` times since the last look; the last call told at least `due`. */
void heard_expect_calls(struct heard *heard, int calls, unsigned due, const char *hint);

#endif

/* An event manager on a backend that is looked at: what it is asked, what it reports, and which
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
extern int watched_reported;                  /* what it has returned */

/* The backend of that name, of those that tell readiness. NULL: there is none. */
const struct backend *watched_find(const char *name);

extern struct events *watched_events;

/* Makes a manager on the backend that the claim has named. */
void watched_begin(void);

/* The end of a check: cancels the watches that are left, and closes every pair. */
void watched_end(void);

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

/* Calls */

/* What a callback was told. It is the context of its watch. */
struct heard {
    int calls;
    int fd;
    unsigned what; /* of the last call */
};

void heard_note(struct heard *heard, int fd, unsigned what);

/* A callback that reads everything, so that more input is reported again. */
void heard_on_event(struct events *e, int fd, unsigned what, void *context);

const char *watched_name_of(unsigned event);

/* "EVENT_READ | EVENT_HANGUP". Good until the function has been called four times more. */
const char *watched_names_of(unsigned what);

bool watched_try_add(int fd, unsigned event, events_callback *call, void *context);

void watched_add(int fd, unsigned event, events_callback *call, void *context);

bool watched_del(int fd, unsigned event);

/* One iteration that does not sleep. */
void watched_turn(void);

/* As many iterations as it takes until the backend reports nothing more; some always do. */
void watched_turns(void);

void watched_expect_interest(int fd, unsigned due, const char *hint);

/* The watch was called `calls` times since the last look, for this event and descriptor. */
void heard_expect_calls(struct heard *heard, int calls, int fd, unsigned event, const char *hint);

#endif

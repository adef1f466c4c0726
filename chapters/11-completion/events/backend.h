/* A readiness call behind the event manager: which of the watched descriptors are ready? */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stddef.h>

/* What can be watched, as bits. */
enum { EVENT_READ = 1, EVENT_WRITE = 2 };

/* What is reported besides, whatever is watched. An error or a hang-up makes both directions ready,
 * too: no call would wait now, and the next call returns what happened. */
enum {
    /* The peer will send no more, or has sent urgent data (MSG_OOB), in front of which a read
     * stops. There may be no further report of this descriptor, so its input has to be read to the
     * very end. Not every backend tells. */
    EVENT_HANGUP = 4,

    /* The connection is broken, by a reset for example: nothing can be sent any more. */
    EVENT_ERROR = 8
};

struct events;
struct watch;

/* `state` is what open returned. Threads do not share it. */
struct backend {
    const char *name; /* as on the command line */

    /* NULL: errno has the reason. */
    void *(*open)(void);
    void (*close)(void *state);

    /* Reports errors of `fd` from now on, and the events in `interest`: EVENT_READ, EVENT_WRITE,
     * both, or none. An event that is ready already is reported. False: errno has the reason, and
     * nothing has changed. */
    bool (*add)(void *state, int fd, unsigned interest, struct watch *watch);
    bool (*set)(void *state, int fd, unsigned interest, struct watch *watch);

    /* Reports nothing of `fd` any more. */
    void (*del)(void *state, int fd);

    /* Sleeps until a descriptor is ready, at most `timeout_ms` (-1: no limit). Passes each one to
     * events_report, at most once. It may report a descriptor as long as that is ready
     * (level-triggered), or once each time something arrives (edge-triggered): the callers are
     * right with both. False: errno has the reason. */
    bool (*wait)(void *state, struct events *events, int timeout_ms);

    /* The ring in which the loop of this backend begins operations. NULL: it has none, and tells
     * readiness. */
    struct ring *(*ring)(void *state);
};

/* For wait alone: the descriptor of this watch is ready for `what`. */
void events_report(struct events *e, struct watch *watch, unsigned what);

extern const struct backend backend_select;
extern const struct backend backend_poll;
extern const struct backend backend_epoll;
extern const struct backend backend_uring; /* only for the manager's own wake-up */

#endif

/* A readiness call behind the event manager: which of the watched descriptors are ready? */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stddef.h>

/* What can be watched, as bits. */
enum { EVENT_READ = 1, EVENT_WRITE = 2 };

/* Only reported, never watched: the peer will send no more, or has sent urgent data (MSG_OOB), in
 * front of which a read stops. There may be no further report of this descriptor, so its input has
 * to be read to the very end. */
enum { EVENT_HANGUP = 4 };

/* A descriptor and what it is ready for. An error or a hang-up makes both directions ready: no call
 * would wait now, and the next call returns what happened. */
struct ready {
    int fd;
    unsigned events;
};

/* `state` is what open returned. Threads do not share it. */
struct backend {
    const char *name; /* as on the command line */

    /* NULL: errno has the reason. */
    void *(*open)(void);
    void (*close)(void *state);

    /* Watches `fd` for the events `after` from now on. Until now it was watched for `before`; 0
     * means not at all. An event that is ready already is reported. False: errno has the reason,
     * and nothing has changed. */
    bool (*set)(void *state, int fd, unsigned before, unsigned after);

    /* Sleeps until a descriptor is ready, at most `timeout_ms` (-1: no limit). Fills in at most
     * `max` reports. Returns their number, or -1: errno has the reason. It may report a descriptor
     * as long as that is ready (level-triggered), or once each time something arrives
     * (edge-triggered). The caller has to be right with both. */
    int (*wait)(void *state, struct ready *ready, int max, int timeout_ms);

    /* The ring in which the loop of this backend begins operations. NULL: it has none, and tells
     * readiness. */
    struct ring *(*ring)(void *state);
};

extern const struct backend backend_select;
extern const struct backend backend_poll;
extern const struct backend backend_epoll;
extern const struct backend backend_uring; /* only for the manager's own wake-up */

#endif

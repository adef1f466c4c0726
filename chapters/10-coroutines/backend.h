/* A readiness call, behind the event manager: who is ready, of those that are watched? */
#ifndef BACKEND_H
#define BACKEND_H

#include <stdbool.h>
#include <stddef.h>

/* What is waited for, as bits. */
enum { EVENT_READ = 1, EVENT_WRITE = 2 };

/* Only told, never asked for: the peer will send no more, or has sent urgent data (MSG_OOB), in
 * front of which a read stops. After it there may be no further news of this descriptor, so what it
 * still holds has to be read to the very end. */
enum { EVENT_HANGUP = 4 };

/* A descriptor and what it is ready for. An error or a hang-up makes it ready for both directions:
 * no call would wait now, and the one that is made finds out what has happened. */
struct ready {
    int fd;
    unsigned events;
};

/* `state` is what open returned; nothing of it is shared between threads. */
struct backend {
    const char *name; /* as on the command line */

    /* NULL: errno has the reason. */
    void *(*open)(void);
    void (*close)(void *state);

    /* Watches `fd` for the events `after` from now on, where `before` were watched until now; 0 is
     * not at all. An event that is ready already is reported. False: errno has the reason, and
     * nothing has changed. */
    bool (*set)(void *state, int fd, unsigned before, unsigned after);

    /* Sleeps until a descriptor is ready, at most `timeout_ms` (-1: for ever). Fills in at most
     * `max`. Returns how many, or -1: errno has the reason. A descriptor may be reported again and
     * again as long as it is ready (level-triggered), or once each time something arrives
     * (edge-triggered): whoever is told has to be right with both. */
    int (*wait)(void *state, struct ready *ready, int max, int timeout_ms);
};

extern const struct backend backend_select;
extern const struct backend backend_poll;
extern const struct backend backend_epoll;

/* The backend of that name. NULL: there is none. */
const struct backend *backend_find(const char *name);

#endif

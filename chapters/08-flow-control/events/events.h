/* The event manager, a reactor: calls you back when a descriptor is ready.
 *
 * A watch is part of the object that wants to be called. It says which descriptor, and what to
 * call; its interest says for which events. The watch stays, and is called each time, until it is
 * taken away. One thread owns all of this, the one that calls events_turn. Only events_wake and
 * events_stop may be called from any thread and from a signal handler.
 *
 * In an iteration a watch is called once, with everything that is known of its descriptor. Some
 * backends report a descriptor as long as it is ready, others only once. So a callback has to
 * remember what was reported until read() or write() returns EAGAIN, or ask for another call with
 * events_again. A callback may also come for nothing. All descriptors are nonblocking, so that does
 * no harm. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "events/backend.h" /* EVENT_READ, EVENT_WRITE, EVENT_HANGUP, EVENT_ERROR */

struct events;
struct watch;

/* `what` has a bit for each event; none if only events_again has asked for this call. The callback
 * may add, change, take away and free any watch, its own too. */
typedef void events_callback(struct events *e, struct watch *watch, unsigned what);

/* A watch that is all zero, except for its first three fields, is not added. While it is added it
 * must not be moved or freed. */
struct watch {
    int fd; /* borrowed */
    events_callback *call;
    void *context;
    /* Only events.c writes the fields below. */
    unsigned char interest; /* EVENT_READ and EVENT_WRITE as bits */
    unsigned char ready;    /* what was reported, and not passed on yet */
    bool added;
    struct watch_queue *queue; /* the one that it waits in; NULL: none */
    TAILQ_ENTRY(watch) others; /* its place there */
};

/* Owned by the caller. NULL: errno has the reason. */
struct events *events_new(const struct backend *backend);

/* Frees the manager and keeps errno. Watches that are left are forgotten, and the descriptors stay
 * open. */
void events_free(struct events *e);

/* Watches a descriptor for the events in `interest`: EVENT_READ, EVENT_WRITE, both, or none. Errors
 * are reported even with none. Borrows the watch. False: nothing has changed, and errno has the
 * reason. */
bool events_add(struct events *e, struct watch *watch, unsigned interest);

/* Changes the interest of a watch that was added. An event that is ready already is reported.
 * False: nothing has changed, and errno has the reason. */
bool events_set(struct events *e, struct watch *watch, unsigned interest);

/* Takes the watch away. It is not called any more, whatever is ready. To be called before the
 * descriptor is closed. Does nothing if the watch is not added. */
void events_del(struct events *e, struct watch *watch);

/* Calls a watch in the next iteration, whatever is reported then, and lets that iteration not
 * sleep: for work that is left, so that others are served first. If the watch is still to be called
 * in this iteration, that call is the one. */
void events_again(struct events *e, struct watch *watch);

/* One iteration of the loop: sleeps until a descriptor is ready, events_wake is called, or
 * `timeout_ms` have passed (-1: no limit); then calls the watches of everything that is ready. */
void events_turn(struct events *e, int timeout_ms);

/* Ends the sleep of events_turn: the current one, or else the next. From any thread. */
void events_wake(struct events *e);

/* Wakes the loop, and events_stopping is true from now on. From any thread. */
void events_stop(struct events *e);
bool events_stopping(const struct events *e);

#endif

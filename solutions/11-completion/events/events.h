/* The event manager, a reactor: calls you back when a descriptor is ready.
 *
 * To hear of an event of a descriptor, readable or writable, add a watch: a callback and a context
 * for it. The watch stays, and is called each time, until it is taken away. One thread owns all of
 * this, the one that calls events_turn. Only events_wake and events_stop may be called from any
 * thread and from a signal handler.
 *
 * Some backends report a descriptor as long as it is ready, others only once. So a callback has to
 * continue until read() or write() returns EAGAIN, or take its watch away: a new watch reports what
 * is ready already. A callback may also come for nothing, since a report can be older than the
 * watch. All descriptors are nonblocking, so that does no harm. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>

#include "events/backend.h" /* EVENT_READ, EVENT_WRITE, EVENT_HANGUP */

/* Reported instead of readiness: the watch has been cancelled. */
enum { EVENT_CANCELLED = 8 };

struct events;
struct ring;

/* `what` is the event that was watched, EVENT_READ or EVENT_WRITE. EVENT_HANGUP or EVENT_CANCELLED
 * may be set in it as well. A callback may change any watch, its own too. */
typedef void events_callback(struct events *e, int fd, unsigned what, void *context);

/* Owned by the caller. NULL: errno has the reason. */
struct events *events_new(const struct backend *backend);

/* Cancels every watch that is left and frees the manager. The descriptors stay open. */
void events_free(struct events *e);

/* Watches `fd` for one event, EVENT_READ or EVENT_WRITE. Borrows the context. False: nothing has
 * changed, and errno has the reason: EEXIST if that event is watched already. */
bool events_add(struct events *e, int fd, unsigned event, events_callback *call, void *context);

/* Takes a watch away. It is not called any more, whatever is ready. False: there was none. */
bool events_del(struct events *e, int fd, unsigned event);

/* Takes a watch away and calls it once more, with EVENT_CANCELLED, before it returns: so its owner
 * learns that the event will not come. False: there was none. */
bool events_cancel(struct events *e, int fd, unsigned event);

/* Cancels both events of a descriptor. False: none was watched. */
bool events_cancel_all(struct events *e, int fd);

/* What is watched of a descriptor: EVENT_READ and EVENT_WRITE as bits. */
unsigned events_interest(const struct events *e, int fd);

/* One iteration of the loop: sleeps until a descriptor is ready, events_wake is called, or
 * `timeout_ms` have passed (-1: no limit); then calls the watches of everything that is ready. */
void events_turn(struct events *e, int timeout_ms);

/* The ring whose completions come in events_turn. NULL: the backend has none. */
struct ring *events_ring(const struct events *e);

/* Ends the sleep of events_turn: the current one, or else the next. From any thread. */
void events_wake(struct events *e);

/* Wakes the loop, and events_stopping is true from now on. From any thread. */
void events_stop(struct events *e);
bool events_stopping(const struct events *e);

#endif

/* The event manager: calls you back when a descriptor is ready.
 *
 * Whoever wants to know of an event of a descriptor, readable or writable, adds a watch: a callback
 * and a context for it. The watch stays, and is called each time, until it is taken away. All of
 * this belongs to one thread, the one that calls events_turn; but events_wake and events_stop may
 * be called from any thread, and in a signal handler.
 *
 * Some backends tell again as long as a descriptor is ready, others only once. So a callback has to
 * go on until its read() or write() has found nothing more to do (EAGAIN), or ask for another call
 * with events_again. And a callback may come although there is nothing: an event can be older than
 * the watch. All descriptors are nonblocking, so that does no harm. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>

#include "backend.h" /* EVENT_READ, EVENT_WRITE, EVENT_HANGUP */

/* Told instead of readiness: the watch has been cancelled. */
enum { EVENT_CANCELLED = 8 };

struct events;

/* What happened is EVENT_READ or EVENT_WRITE, of the two the one that was watched; with it may come
 * EVENT_HANGUP or EVENT_CANCELLED. A callback may do to any watch what it likes, its own too. */
typedef void events_callback(struct events *e, int fd, unsigned what, void *context);

/* Owned by the caller. NULL: errno has the reason. */
struct events *events_new(const struct backend *backend);

/* Cancels every watch that is left, and frees the manager. The descriptors are not closed. */
void events_free(struct events *e);

/* Watches `fd` for one event, EVENT_READ or EVENT_WRITE. Borrows the context. False: nothing has
 * changed, and errno has the reason: EEXIST if that event is watched already. */
bool events_add(struct events *e, int fd, unsigned event, events_callback *call, void *context);

/* Takes a watch away; it is not called any more, whatever is ready. False: there was none. */
bool events_del(struct events *e, int fd, unsigned event);

/* Takes a watch away and calls it once more, with EVENT_CANCELLED, before it returns: for whoever
 * waits for this event and has to hear that it will not come. False: there was none. */
bool events_cancel(struct events *e, int fd, unsigned event);

/* Cancels both events of a descriptor. False: none was watched. */
bool events_cancel_all(struct events *e, int fd);

/* What is watched of a descriptor: EVENT_READ and EVENT_WRITE as bits. */
unsigned events_interest(const struct events *e, int fd);

/* Calls a watch in the next turn, though nothing new has come: for a callback that leaves something
 * undone so that others have their turn. Nothing happens if that event is not watched then. */
void events_again(struct events *e, int fd, unsigned event);

/* Sleeps until something is ready, somebody wakes us, or `timeout_ms` have gone by (-1: for ever);
 * then calls the watches of all that is ready. */
void events_turn(struct events *e, int timeout_ms);

/* Ends the sleep of events_turn: the one under way, or else the next. From any thread. */
void events_wake(struct events *e);

/* Wakes the loop, and events_stopping is true from now on. From any thread. */
void events_stop(struct events *e);
bool events_stopping(const struct events *e);

#endif

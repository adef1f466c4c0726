/* Things of many pieces that are freed in steps: a list with a million items, say, or all keys.
 *
 * Nobody sees them any more, but freeing them at once would keep every client waiting. So a timer
 * frees some pieces in each iteration of the loop.
 *
 * Clients could make garbage faster than that. So each command frees as many pieces as it can make,
 * and more: while things wait here, all that is kept and all that waits do not grow together. */
#ifndef GARBAGE_H
#define GARBAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "events/timers.h"

/* From garbage_start() to garbage_stop() things may wait. The timers are borrowed until then, and
 * garbage_stop() frees all that waits. */
void garbage_start(struct timers *timers);
void garbage_stop(void);

/* Frees one piece of a thing, or the thing itself when it has none any more. False: the thing is
 * freed. */
typedef bool garbage_callback(void *thing);

/* Frees a thing, with free_some(). If it has few pieces, all is freed at once. */
void garbage_add(void *thing, garbage_callback *free_some);

/* Frees so many pieces of what waits. */
void garbage_free(size_t pieces);

#endif

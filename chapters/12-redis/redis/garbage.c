#include "redis/garbage.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/queue.h>

/* How many pieces are freed with each iteration, and how many of a thing before it waits. */
enum { PIECES_AT_ONCE = 256, PIECES_FIRST = 16 };

/* A thing that waits. */
struct garbage {
    STAILQ_ENTRY(garbage) others;
    void *thing; /* owned */
    garbage_callback *free_some;
};

static STAILQ_HEAD(, garbage) waiting = STAILQ_HEAD_INITIALIZER(waiting);
static struct timers *timers; /* borrowed */
static struct timer timer;

void garbage_free(size_t pieces)
{
    struct garbage *first;
    while (pieces > 0 && (first = STAILQ_FIRST(&waiting)) != NULL) {
        pieces--;
        if (first->free_some(first->thing))
            continue;
        STAILQ_REMOVE_HEAD(&waiting, others);
        free(first);
        if (!STAILQ_EMPTY(&waiting))
            continue;
        timer_cancel(timers, &timer);
        malloc_trim(0); /* the C library would keep the memory of millions of pieces */
    }
}

static void on_timer(struct timer *due, void *context)
{
    (void)due, (void)context;
    garbage_free(PIECES_AT_ONCE);
}

void garbage_start(struct timers *borrowed)
{
    timers = borrowed;
    timer = (struct timer){.call = on_timer};
}

void garbage_stop(void)
{
    garbage_free(SIZE_MAX);
    timers = NULL;
}

/* Lets a thing wait. False: no memory, or the server ends. */
static bool keep(void *thing, garbage_callback *free_some)
{
    struct garbage *garbage = timers != NULL ? malloc(sizeof *garbage) : NULL;
    if (garbage == NULL)
        return false;
    if (!timer_is_set(&timer) && !timer_set(timers, &timer, 0, true)) {
        free(garbage);
        return false;
    }
    *garbage = (struct garbage){.thing = thing, .free_some = free_some};
    STAILQ_INSERT_TAIL(&waiting, garbage, others);
    return true;
}

void garbage_add(void *thing, garbage_callback *free_some)
{
    for (int i = 0; i < PIECES_FIRST; i++)
        if (!free_some(thing))
            return;
    if (keep(thing, free_some))
        return;
    while (free_some(thing))
        continue;
}

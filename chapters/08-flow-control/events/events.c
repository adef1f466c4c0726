#include "events/events.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

struct watch {
    events_callback *call; /* NULL: there is none */
    void *context;
};

/* What is watched of a descriptor. */
struct entry {
    struct watch read;
    struct watch write;
    unsigned char requested; /* events to call in the next iteration, ready or not */
    unsigned char pending;   /* the same for this iteration; cleared by the call */
};

struct events {
    /* Set by events_new, and never changed. */
    const struct backend *backend;
    void *state; /* the backend's */
    int wake_fd;

    /* Written by reach. Both move when they grow, so no pointer into them outlives a callback. */
    struct entry *table; /* indexed by descriptor */
    struct ready *ready; /* the backend's report: space for every descriptor */
    int size;            /* entries in each of the two */

    /* Written by events_again and, once an iteration, by end_turn. */
    int *queue; /* descriptors with events in `requested` or `pending`, and some that had them */
    int queue_count;
    int queue_size;

    /* Written by any thread, and by signal handlers. */
    atomic_bool stopping;
};

static struct watch *watch_of(struct entry *entry, unsigned event)
{
    return event == EVENT_READ ? &entry->read : &entry->write;
}

unsigned events_interest(const struct events *e, int fd)
{
    if (fd >= e->size)
        return 0;
    const struct entry *entry = &e->table[fd];
    return (entry->read.call != NULL ? EVENT_READ : 0u) |
           (entry->write.call != NULL ? EVENT_WRITE : 0u);
}

/* Makes the table reach up to `fd`. False: no memory; nothing has changed. */
static bool reach(struct events *e, int fd)
{
    if (fd < e->size)
        return true;
    /* Half as much again: descriptors come one by one, and growing for each would cost O(n^2). */
    int size = fd + 1 + fd / 2;
    /* Not realloc(): of memory that is zero already, pages not used yet cost nothing. */
    struct entry *table = calloc((size_t)size, sizeof *table);
    if (table == NULL)
        return false;
    if (e->size > 0)
        memcpy(table, e->table, (size_t)e->size * sizeof *table);
    free(e->table);
    e->table = table;
    struct ready *ready = realloc(e->ready, (size_t)size * sizeof *ready);
    if (ready == NULL)
        return false;
    e->ready = ready;
    e->size = size;
    return true;
}

bool events_add(struct events *e, int fd, unsigned event, events_callback *call, void *context)
{
    if (!reach(e, fd))
        return false;
    unsigned before = events_interest(e, fd);
    if (before & event) {
        errno = EEXIST;
        return false;
    }
    if (!e->backend->set(e->state, fd, before, before | event))
        return false;
    *watch_of(&e->table[fd], event) = (struct watch){.call = call, .context = context};
    return true;
}

bool events_del(struct events *e, int fd, unsigned event)
{
    unsigned before = events_interest(e, fd);
    if (!(before & event))
        return false;
    /* This fails only for a descriptor that is closed already. The kernel has forgotten that one by
     * itself. */
    e->backend->set(e->state, fd, before, before & ~event);
    *watch_of(&e->table[fd], event) = (struct watch){0};
    e->table[fd].requested &= (unsigned char)~event;
    e->table[fd].pending &= (unsigned char)~event;
    return true;
}

bool events_cancel(struct events *e, int fd, unsigned event)
{
    if (!(events_interest(e, fd) & event))
        return false;
    struct watch watch = *watch_of(&e->table[fd], event);
    events_del(e, fd, event);
    watch.call(e, fd, event | EVENT_CANCELLED, watch.context);
    return true;
}

bool events_cancel_all(struct events *e, int fd)
{
    bool read = events_cancel(e, fd, EVENT_READ);
    bool write = events_cancel(e, fd, EVENT_WRITE);
    return read || write;
}

/* An eventfd is a counter in the kernel, readable while it is not 0. So a wake-up before the sleep
 * is not lost, and many of them are one. Signal handlers and other threads may call write(). It can
 * fail only because the counter is full, and then the descriptor is readable already. */
void events_wake(struct events *e)
{
    int saved_errno = errno;
    uint64_t one = 1;
    ssize_t ignored = write(e->wake_fd, &one, sizeof one);
    (void)ignored;
    errno = saved_errno;
}

/* The wake-up has done its work. Reading sets the counter back to 0. */
static void on_wake(struct events *e, int fd, unsigned what, void *context)
{
    (void)e, (void)what, (void)context;
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof count);
    (void)ignored;
}

/* Calls the watch of one event, if it is still there: an earlier callback may have removed it. */
static void call(struct events *e, int fd, unsigned event, unsigned hangup)
{
    if (!(events_interest(e, fd) & event))
        return;
    e->table[fd].pending &= (unsigned char)~event;
    struct watch watch = *watch_of(&e->table[fd], event);
    watch.call(e, fd, event | hangup, watch.context);
}

/* Reading comes before writing: what is read may have to be written. */
static void dispatch(struct events *e, int fd, unsigned what)
{
    if (what & EVENT_READ)
        call(e, fd, EVENT_READ, what & EVENT_HANGUP);
    if (what & EVENT_WRITE)
        call(e, fd, EVENT_WRITE, what & EVENT_HANGUP);
}

/* Makes space for one more descriptor in the queue. False: no memory. */
static bool extend_queue(struct events *e)
{
    if (e->queue_count < e->queue_size)
        return true;
    int size = 2 * e->queue_size + 16;
    int *queue = realloc(e->queue, (size_t)size * sizeof *queue);
    if (queue == NULL)
        return false;
    e->queue = queue;
    e->queue_size = size;
    return true;
}

void events_again(struct events *e, int fd, unsigned event)
{
    event &= events_interest(e, fd);
    if (event == 0 || (e->table[fd].requested & event))
        return;
    if (!extend_queue(e)) {
        log_line("fd %d: cannot be called again: out of memory", fd);
        return;
    }
    e->table[fd].requested |= (unsigned char)event;
    e->queue[e->queue_count++] = fd;
}

/* Requests made until now are pending in this iteration, later ones in the next. */
static int begin_turn(struct events *e)
{
    for (int i = 0; i < e->queue_count; i++) {
        struct entry *entry = &e->table[e->queue[i]];
        entry->pending |= entry->requested;
        entry->requested = 0;
    }
    return e->queue_count;
}

/* Calls the watches that are pending and were not called for a report of this iteration. */
static void end_turn(struct events *e, int queued)
{
    for (int i = 0; i < queued; i++)
        dispatch(e, e->queue[i], e->table[e->queue[i]].pending);
    e->queue_count -= queued;
    if (queued > 0 && e->queue_count > 0)
        memmove(e->queue, e->queue + queued, (size_t)e->queue_count * sizeof *e->queue);
}

void events_turn(struct events *e, int timeout_ms)
{
    int queued = begin_turn(e);
    int count = e->backend->wait(e->state, e->ready, e->size, queued > 0 ? 0 : timeout_ms);
    /* EINTR ends the wait, not the loop. */
    if (count < 0 && errno != EINTR)
        log_line("%s: %s", e->backend->name, strerror(errno));
    for (int i = 0; i < count; i++)
        dispatch(e, e->ready[i].fd, e->ready[i].events);
    end_turn(e, queued);
}

void events_stop(struct events *e)
{
    atomic_store(&e->stopping, true);
    events_wake(e);
}

bool events_stopping(const struct events *e)
{
    return atomic_load(&e->stopping);
}

struct events *events_new(const struct backend *backend)
{
    struct events *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->backend = backend;
    e->wake_fd = eventfd(0, EFD_NONBLOCK);
    e->state = backend->open();
    if (e->wake_fd >= 0 && e->state != NULL && events_add(e, e->wake_fd, EVENT_READ, on_wake, NULL))
        return e;
    int saved_errno = errno;
    events_free(e);
    errno = saved_errno;
    return NULL;
}

void events_free(struct events *e)
{
    if (e->wake_fd >= 0) {
        events_del(e, e->wake_fd, EVENT_READ);
        close(e->wake_fd);
    }
    for (int fd = 0; fd < e->size; fd++)
        events_cancel_all(e, fd);
    if (e->state != NULL)
        e->backend->close(e->state);
    free(e->table);
    free(e->ready);
    free(e->queue);
    free(e);
}

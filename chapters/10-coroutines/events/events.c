#include "events/events.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

TAILQ_HEAD(watch_queue, watch);

struct events {
    /* Set by events_new, and never changed. */
    const struct backend *backend;
    void *state; /* the backend's */
    struct watch wakeup;

    /* For the thread of the loop. The two change places in each iteration. */
    struct watch_queue queues[2];
    struct watch_queue *due;  /* to be called in this iteration */
    struct watch_queue *next; /* to be called in the next one, ready or not */

    /* Written by any thread, and by signal handlers. */
    atomic_bool stopping;
};

/* Does nothing if the watch is in a queue already: it is called from there. */
static void enqueue(struct watch_queue *queue, struct watch *watch)
{
    if (watch->queue != NULL)
        return;
    watch->queue = queue;
    TAILQ_INSERT_TAIL(queue, watch, others);
}

static void dequeue(struct watch *watch)
{
    if (watch->queue == NULL)
        return;
    TAILQ_REMOVE(watch->queue, watch, others);
    watch->queue = NULL;
}

bool events_add(struct events *e, struct watch *watch, unsigned interest)
{
    if (!e->backend->add(e->state, watch->fd, interest, watch))
        return false;
    watch->added = true;
    watch->interest = (unsigned char)interest;
    return true;
}

bool events_set(struct events *e, struct watch *watch, unsigned interest)
{
    if (interest == watch->interest)
        return true;
    if (!e->backend->set(e->state, watch->fd, interest, watch))
        return false;
    watch->interest = (unsigned char)interest;
    return true;
}

void events_del(struct events *e, struct watch *watch)
{
    if (!watch->added)
        return;
    e->backend->del(e->state, watch->fd);
    watch->added = false;
    /* It may have been reported in this iteration, and its owner may free it now. */
    watch->ready = 0;
    dequeue(watch);
}

/* An eventfd is a counter in the kernel, readable while it is not 0. So a wake-up before the sleep
 * is not lost, and many of them are one. Signal handlers and other threads may call write(). It can
 * fail only because the counter is full, and then the descriptor is readable already. */
void events_wake(struct events *e)
{
    int saved_errno = errno;
    uint64_t one = 1;
    ssize_t ignored = write(e->wakeup.fd, &one, sizeof one);
    (void)ignored;
    errno = saved_errno;
}

/* The wake-up has done its work. Reading sets the counter back to 0. */
static void on_wake(struct events *e, struct watch *watch, unsigned what)
{
    (void)e, (void)what;
    uint64_t count;
    ssize_t ignored = read(watch->fd, &count, sizeof count);
    (void)ignored;
}

void events_again(struct events *e, struct watch *watch)
{
    enqueue(e->next, watch);
}

/* Calls that were requested for the next iteration are due now. Later requests are for the one
 * after it: else a watch that always asks again would keep the loop here for ever. */
static void begin_turn(struct events *e)
{
    struct watch_queue *empty = e->due;
    e->due = e->next;
    e->next = empty;
}

void events_report(struct events *e, struct watch *watch, unsigned what)
{
    watch->ready |= (unsigned char)what;
    enqueue(e->due, watch);
}

/* Calls each watch that is due, once. A callback may take away and free others that are due: so
 * this keeps no pointer to the next one. */
static void dispatch(struct events *e)
{
    struct watch *watch;
    while ((watch = TAILQ_FIRST(e->due)) != NULL) {
        unsigned what = watch->ready;
        watch->ready = 0;
        dequeue(watch);
        watch->call(e, watch, what);
    }
}

void events_turn(struct events *e, int timeout_ms)
{
    begin_turn(e);
    bool may_sleep = TAILQ_EMPTY(e->due);
    bool waited = e->backend->wait(e->state, e, may_sleep ? timeout_ms : 0);
    if (!waited && errno != EINTR) /* EINTR ends the wait, not the loop */
        log_line("%s: %s", e->backend->name, strerror(errno));
    dispatch(e);
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
    e->due = &e->queues[0];
    e->next = &e->queues[1];
    TAILQ_INIT(e->due);
    TAILQ_INIT(e->next);
    e->wakeup = (struct watch){.fd = eventfd(0, EFD_NONBLOCK), .call = on_wake};
    e->state = backend->open();
    if (e->wakeup.fd >= 0 && e->state != NULL && events_add(e, &e->wakeup, EVENT_READ))
        return e;
    events_free(e);
    return NULL;
}

void events_free(struct events *e)
{
    int saved_errno = errno;
    events_del(e, &e->wakeup);
    if (e->wakeup.fd >= 0)
        close(e->wakeup.fd);
    if (e->state != NULL)
        e->backend->close(e->state);
    free(e);
    errno = saved_errno;
}

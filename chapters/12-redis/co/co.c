#include "co/co.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/tools.h"
#include "co/context.h"
#include "co/stack.h"

struct coroutine {
    struct context context; /* where it continues */
    struct scheduler *scheduler;
    struct stack stack;
    void *fiber; /* ThreadSanitizer's handle for it; NULL without that tool */
    const char *name;
    co_function *function;
    void *argument;
    enum { CO_RUNS, CO_READY, CO_PARKED, CO_ENDED } state;
    bool cancelled;
    bool late;
    struct timer timer; /* set while it is parked with a time limit */
    TAILQ_ENTRY(coroutine) others;
};

TAILQ_HEAD(coroutines, coroutine);

struct scheduler {
    struct context context; /* of the thread, while a coroutine runs */
    void *fiber;
    struct timers *timers;
    struct stacks stacks; /* that no coroutine uses now */
    unsigned turn;
    unsigned count;          /* of coroutines that have not ended */
    struct coroutines ready; /* the ready queue: first in, first out */
};

static _Thread_local struct coroutine *self; /* the one that runs in this thread, or NULL */

struct coroutine *co_self(void)
{
    return self;
}

unsigned co_turn(void)
{
    return self->scheduler->turn;
}

struct scheduler *scheduler_new(struct timers *timers, size_t stack_bytes)
{
    struct scheduler *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->timers = timers;
    s->stacks.size = stack_bytes;
    TAILQ_INIT(&s->ready);
    return s;
}

void scheduler_free(struct scheduler *s)
{
    stacks_free(&s->stacks);
    free(s);
}

static void make_ready(struct coroutine *co)
{
    co->state = CO_READY;
    TAILQ_INSERT_TAIL(&co->scheduler->ready, co, others);
}

static void on_time(struct timer *timer, void *context)
{
    struct coroutine *co = context;
    (void)timer;
    co->late = true;
    co_wake(co);
}

/* Switches from the running coroutine back to its thread. Returns when the coroutine is resumed. */
static void suspend(void)
{
    struct coroutine *me = self;
    FIBER_SWITCH(me->scheduler->fiber);
    context_switch(&me->context, &me->scheduler->context);
}

/* The first function on a new stack. It gets no argument: self is the coroutine. */
static void begin(void)
{
    self->function(self->argument);
    self->state = CO_ENDED;
    suspend(); /* does not return: an ended coroutine is never resumed */
}

/* Runs a coroutine until it waits or ends. Frees it if it has ended: here, on the stack of the
 * thread, because code must not free the stack it runs on. */
static void resume(struct coroutine *co)
{
    struct scheduler *s = co->scheduler;
    s->fiber = FIBER_SELF();
    co->state = CO_RUNS;
    self = co;
    FIBER_SWITCH(co->fiber);
    context_switch(&s->context, &co->context);
    self = NULL;
    if (co->state == CO_ENDED) {
        FIBER_FREE(co->fiber);
        stacks_give(&s->stacks, &co->stack);
        free(co);
        s->count--;
    }
}

struct coroutine *co_start(struct scheduler *s, const char *name, co_function *function,
                           void *argument)
{
    struct coroutine *co = calloc(1, sizeof *co);
    if (co == NULL)
        return NULL;
    if (!stacks_take(&s->stacks, &co->stack)) {
        free(co);
        return NULL;
    }
    co->fiber = FIBER_NEW();
    co->scheduler = s;
    co->name = name;
    co->function = function;
    co->argument = argument;
    co->timer = (struct timer){.call = on_time, .context = co};
    context_make(&co->context, co->stack.bottom, co->stack.size, begin);
    s->count++;
    make_ready(co);
    return co;
}

bool co_any(const struct scheduler *s)
{
    return s->count > 0;
}

bool co_is_ready(const struct scheduler *s)
{
    return !TAILQ_EMPTY(&s->ready);
}

bool co_run(struct scheduler *s)
{
    struct coroutines now = TAILQ_HEAD_INITIALIZER(now);
    TAILQ_CONCAT(&now, &s->ready, others);
    s->turn++;
    bool any = !TAILQ_EMPTY(&now);
    struct coroutine *co;
    while ((co = TAILQ_FIRST(&now)) != NULL) {
        TAILQ_REMOVE(&now, co, others);
        resume(co);
    }
    return any;
}

void co_yield_now(void)
{
    make_ready(self);
    suspend();
}

void co_hold(void)
{
    self->state = CO_PARKED;
    suspend();
}

enum co_result co_park(int timeout_ms)
{
    struct coroutine *me = self;
    struct timers *timers = me->scheduler->timers;
    if (me->cancelled)
        return CO_CANCELLED;
    me->late = false;
    if (timeout_ms >= 0 && !timer_set(timers, &me->timer, timeout_ms, false))
        return CO_LATE; /* no memory for the timer, so nothing would ever wake us */
    me->state = CO_PARKED;
    suspend();
    timer_cancel(timers, &me->timer);
    if (me->cancelled)
        return CO_CANCELLED;
    return me->late ? CO_LATE : CO_WOKEN;
}

void co_wake(struct coroutine *co)
{
    if (co != NULL && co->state == CO_PARKED)
        make_ready(co);
}

enum co_result co_sleep(int ms)
{
    int64_t end_us = clock_us() + (int64_t)ms * 1000;
    enum co_result result = co_park(ms);
    while (result == CO_WOKEN) /* too early: sleep for what is left */
        result = co_park(clock_ms_until(end_us));
    return result;
}

void co_cancel(struct coroutine *co)
{
    if (co == NULL)
        return;
    co->cancelled = true;
    co_wake(co);
}

const char *co_overflowed(const void *address, size_t *stack_bytes)
{
    if (self == NULL || !stack_guards(&self->stack, address))
        return NULL;
    *stack_bytes = self->stack.size;
    return self->name;
}

#include "co.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <ucontext.h>

#include "clock.h"
#include "stack.h"
#include "tools.h"

struct coroutine {
    ucontext_t context; /* where it goes on */
    struct scheduler *scheduler;
    struct stack stack;
    void *fiber; /* what the thread sanitizer calls it */
    const char *name;
    co_function *function;
    void *argument;
    enum { CO_RUNS, CO_READY, CO_PARKED, CO_ENDED } state;
    bool cancelled;
    bool late;
    struct timer timer; /* set while it is parked for a time */
    TAILQ_ENTRY(coroutine) others;
};

TAILQ_HEAD(coroutines, coroutine);

struct scheduler {
    ucontext_t context; /* of co_run, while a coroutine runs */
    void *fiber;
    struct timers *timers;
    size_t stack_bytes;
    unsigned turn;
    struct coroutines ready; /* in the order in which they became so */
};

static _Thread_local struct coroutine *self;

struct coroutine *co_self(void)
{
    return self;
}

struct scheduler *co_scheduler(void)
{
    return self->scheduler;
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
    s->stack_bytes = stack_bytes;
    TAILQ_INIT(&s->ready);
    return s;
}

void scheduler_free(struct scheduler *s)
{
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

/* Back to co_run; returns when somebody goes on with us. */
static void suspend(void)
{
    FIBER_SWITCH(self->scheduler->fiber);
    swapcontext(&self->context, &self->scheduler->context);
}

/* The first function on a new stack. makecontext passes nothing but ints; self says who it is. */
static void begin(void)
{
    self->function(self->argument);
    self->state = CO_ENDED;
    suspend(); /* and nobody goes on with us */
}

/* Has the context begin on the coroutine's own stack. */
static void prepare(struct coroutine *co)
{
    getcontext(&co->context);
    co->context.uc_stack.ss_sp = co->stack.bottom;
    co->context.uc_stack.ss_size = co->stack.size;
    makecontext(&co->context, begin, 0);
}

struct coroutine *co_start(struct scheduler *s, const char *name, co_function *function,
                           void *argument)
{
    struct coroutine *co = calloc(1, sizeof *co);
    if (co == NULL)
        return NULL;
    if (!stack_open(&co->stack, s->stack_bytes)) {
        free(co);
        return NULL;
    }
    co->fiber = FIBER_NEW();
    co->scheduler = s;
    co->name = name;
    co->function = function;
    co->argument = argument;
    co->timer = (struct timer){.call = on_time, .context = co};
    prepare(co);
    make_ready(co);
    return co;
}

/* Goes on with a coroutine until it waits or ends. */
static void resume(struct coroutine *co)
{
    co->scheduler->fiber = FIBER_SELF();
    // BEGIN resume
    co->state = CO_RUNS;
    self = co;
    FIBER_SWITCH(co->fiber);
    swapcontext(&co->scheduler->context, &co->context);
    self = NULL;
    // END resume
    if (co->state == CO_ENDED) {
        FIBER_FREE(co->fiber);
        stack_close(&co->stack);
        free(co);
    }
}

bool co_is_ready(const struct scheduler *s)
{
    return !TAILQ_EMPTY(&s->ready);
}

bool co_run(struct scheduler *s)
{
    // BEGIN run
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
    // END run
}

enum co_result co_park(int timeout_ms)
{
    struct coroutine *me = self;
    struct timers *timers = me->scheduler->timers;
    if (me->cancelled)
        return CO_CANCELLED;
    // BEGIN park
    me->late = false;
    if (timeout_ms >= 0 && !timer_set(timers, &me->timer, timeout_ms, false))
        return CO_LATE; /* no memory to be woken in time: so it is now */
    me->state = CO_PARKED;
    suspend();
    timer_cancel(timers, &me->timer);
    // END park
    if (me->cancelled)
        return CO_CANCELLED;
    return me->late ? CO_LATE : CO_WOKEN;
}

void co_yield_now(void)
{
    make_ready(self);
    suspend();
}

enum co_result co_sleep(int ms)
{
    // BEGIN sleep
    int64_t end = clock_ms() + ms + 1; /* the clock has been rounded down */
    enum co_result result = co_park(ms);
    while (result == CO_WOKEN) { /* not by the timer: the rest of the time is still to come */
        int64_t left = end - clock_ms();
        result = co_park(left > 0 ? (int)left : 0);
    }
    return result;
    // END sleep
}

void co_wake(struct coroutine *co)
{
    if (co != NULL && co->state == CO_PARKED)
        make_ready(co);
}

void co_cancel(struct coroutine *co)
{
    if (co == NULL)
        return;
    // BEGIN co_cancel
    co->cancelled = true;
    co_wake(co);
    // END co_cancel
}

const char *co_overflowed(const void *address, size_t *stack_bytes)
{
    if (self == NULL || !stack_guards(&self->stack, address))
        return NULL;
    *stack_bytes = self->stack.size;
    return self->name;
}

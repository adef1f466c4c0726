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
    /* TODO 1: Switch to a coroutine, and say meanwhile who runs. Graded by
     * test_10_a_coroutine_runs.
     * Where it goes on is in its context; where we go on, when it waits or has ended, in that of
     * its scheduler. FIBER_SWITCH comes right before each switch. */
    (void)co;
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
    /* TODO 3: Run everybody who is ready now, once. Graded by test_10_everybody_ready_runs_once.
     * Who gets ready meanwhile is for the next call: so take the whole line out first. Count the
     * turn. Say whether there was anybody. */
    s->turn++;
    struct coroutine *co = TAILQ_FIRST(&s->ready);
    if (co == NULL)
        return false;
    TAILQ_REMOVE(&s->ready, co, others);
    resume(co);
    return true;
}

enum co_result co_park(int timeout_ms)
{
    struct coroutine *me = self;
    struct timers *timers = me->scheduler->timers;
    if (me->cancelled)
        return CO_CANCELLED;
    /* TODO 4: Wait until somebody wakes us, or the time is over. Graded by
     * test_10_parked_until_the_time_is_over.
     * A timer that is still set afterwards would wake us from another wait. */
    (void)timers, (void)timeout_ms;
    me->late = false;
    me->state = CO_PARKED;
    suspend();
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
    /* TODO 5: Wait until the time is over, whoever wakes us. Graded by
     * test_10_sleeps_on_when_woken. */
    return co_park(ms);
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
    /* TODO 6: Have its wait, and all later ones, be cancelled. Graded by
     * test_10_cancelled_for_good. */
    co_wake(co);
}

const char *co_overflowed(const void *address, size_t *stack_bytes)
{
    if (self == NULL || !stack_guards(&self->stack, address))
        return NULL;
    *stack_bytes = self->stack.size;
    return self->name;
}

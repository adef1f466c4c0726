/* Where each thread waits, and until when. The harness reads that. On its clock a wait with a limit
 * is made in slices of real time: it ends when something is ready, or the clock has reached the
 * limit. So no signal, descriptor or thread of ours is needed to end it. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t SHORTEST = 1000000, LONGEST = 5000000; /* ns, of a slice */
#define PART 8 /* of the time waited so far: a slice gets longer with it */

static _Thread_local struct waiter *mine; /* NULL: this thread has not waited yet */
static pthread_key_t at_end;

static void give_back(void *place)
{
    struct waiter *waiter = place;
    waiter->state = RUNS;
    waiter->tid = 0;
    waiter->pid = 0;
}

static void forget_mine(void)
{
    mine = NULL;
}

void waits_start(void)
{
    pthread_key_create(&at_end, give_back);
    pthread_atfork(NULL, NULL, forget_mine);
}

/* A process that was killed gives nothing back. */
static bool has_ended(uint32_t pid, uint32_t tid)
{
    return tid != 0 && syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

static bool take(struct waiter *waiter, uint32_t from)
{
    if (!atomic_compare_exchange_strong(&waiter->pid, &from, (uint32_t)getpid()))
        return false;
    waiter->state = RUNS;
    waiter->tid = (uint32_t)gettid();
    pthread_setspecific(at_end, waiter);
    return true;
}

/* NULL: all are in use. */
static struct waiter *find_mine(void)
{
    for (int i = 0; i < WAITERS; i++)
        if (shared->waiter[i].pid == 0 && take(&shared->waiter[i], 0))
            return &shared->waiter[i];
    for (int i = 0; i < WAITERS; i++) {
        uint32_t pid = shared->waiter[i].pid;
        if (has_ended(pid, shared->waiter[i].tid) && take(&shared->waiter[i], pid))
            return &shared->waiter[i];
    }
    return NULL;
}

/* Tells the harness when the wait is over, on the monotonic clock. That of a time of day changes
 * when the time of day is set. */
static void tell_due(const struct wait *wait)
{
    if (mine == NULL)
        return;
    uint32_t generation = shared->clock.generation;
    int64_t due = wait->due_ns;
    if (due != NO_DUE && wait->clock != CLOCK_MONOTONIC)
        due += clock_now(CLOCK_MONOTONIC) - clock_now(wait->clock);
    mine->due_ns = due;
    mine->seen = generation;
}

/* The length of the next slice. On a clock that goes on by itself none lasts beyond the limit. */
static void set_slice(struct wait *wait)
{
    int64_t slice = (int64_t)(record_now() - wait->began_ns) / PART;
    slice = slice < SHORTEST ? SHORTEST : slice > LONGEST ? LONGEST : slice;
    int64_t left = wait_left(wait);
    if (left == 0 || (shared->clock.mode != CLOCK_STANDS && left < slice))
        slice = left;
    wait->slice = clock_timespec(slice);
}

/* Between two slices no handler may run: a wait that a signal interrupts has to fail, and a call
 * with `mask` lets it come only while it waits. */
void wait_with_mask(struct wait *wait, const sigset_t *mask)
{
    if (!wait->sliced)
        return;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &wait->before);
    wait->mask = mask != NULL ? *mask : wait->before;
    wait->masked = true;
}

struct wait wait_until(enum call call, int fd, clockid_t clock, int64_t due_ns)
{
    struct wait wait = {.clock = clock, .due_ns = due_ns};
    if (shared == NULL)
        return wait;
    int saved = errno;
    if (mine == NULL)
        mine = find_mine();
    if (mine != NULL) {
        mine->call = call;
        mine->fd = fd;
        tell_due(&wait);
        mine->waits++;
        mine->state = WAITS;
    }
    wait.noted = true;
    wait.sliced = clock_is_ours(clock) && (due_ns != NO_DUE || timers_in_use());
    if (wait.sliced) {
        wait.began_ns = record_now();
        set_slice(&wait);
    }
    errno = saved;
    return wait;
}

struct wait wait_for(enum call call, int fd, int64_t limit_ns)
{
    if (limit_ns == 0 || shared == NULL)
        return (struct wait){.due_ns = NO_DUE};
    int64_t due = NO_DUE, now = clock_now(CLOCK_MONOTONIC);
    if (limit_ns > 0)
        due = limit_ns < NO_DUE - 1 - now ? now + limit_ns : NO_DUE - 1;
    return wait_until(call, fd, CLOCK_MONOTONIC, due);
}

int64_t wait_left(const struct wait *wait)
{
    int64_t now = clock_now(wait->clock);
    return wait->due_ns > now ? wait->due_ns - now : 0;
}

bool wait_again(struct wait *wait, bool nothing)
{
    if (!wait->sliced || !nothing)
        return false;
    bool fired = timers_fire();
    bool over = wait_left(wait) == 0;
    tell_due(wait);
    set_slice(wait);
    return fired || !over;
}

void wait_end(struct wait *wait)
{
    if (!wait->noted)
        return;
    int saved = errno;
    if (mine != NULL)
        mine->state = RUNS;
    if (wait->masked)
        pthread_sigmask(SIG_SETMASK, &wait->before, NULL);
    errno = saved;
}

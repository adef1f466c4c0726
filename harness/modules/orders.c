#define _GNU_SOURCE
#include "orders.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum {
    THREADS_MAX = 4,
    POINTS_MAX = 400, /* in an order; at later ones nobody is put off */
    SWITCHES_MAX = 2,
    ORDERS_MAX = 4000,
    LOCKS_MAX = 16,
    STUCK_SECONDS = 5
};

static const char LOCK_HINT[] = "lock-held";

struct thread {
    const struct orders_thread *is;
    pthread_t pthread;
    sem_t turn;                  /* it may go on */
    const pthread_mutex_t *lock; /* it waits for that; NULL: for none */
    struct pollfd *fds;          /* it waits for these; NULL: for none */
    nfds_t fd_count;
    bool ended;
};

/* Where the threads have been held in this order: which of those that could go on did so. The one
 * that ran last is the first of them. */
struct point {
    unsigned char taken, count;
};

struct held {
    const pthread_mutex_t *lock;
    const struct thread *by; /* NULL: nobody */
};

static struct thread threads[THREADS_MAX];
static int thread_count;
static struct point points[POINTS_MAX];
static int point_count; /* of this order so far */
static int given;       /* points at which this order repeats the one before, but for the last */
static int switches;    /* of this order: a thread was put off that could have gone on */
static struct held held[LOCKS_MAX];
static sem_t over;              /* all threads have ended */
static volatile int progress;   /* points of all orders */
static const char *asleep_hint; /* see orders_try() */
static const char *asleep_text;

static _Thread_local struct thread *mine; /* NULL: this thread is none of them, or chooses */

/* Mutexes: they are never locked in truth, since one thread runs at a time */

static struct held *find(const pthread_mutex_t *lock)
{
    int place = 0;
    while (place < LOCKS_MAX - 1 && held[place].lock != NULL && held[place].lock != lock)
        place++;
    held[place].lock = lock;
    return &held[place];
}

/* Whose turn it is */

static bool can_go_on(const struct thread *t)
{
    if (t->ended)
        return false;
    if (t->lock != NULL)
        return find(t->lock)->by == NULL;
    if (t->fds != NULL)
        return syscall(SYS_poll, t->fds, t->fd_count, 0) != 0;
    return true;
}

/* Nobody can go on, and somebody has not ended. */
static _Noreturn void fail_stuck(void)
{
    for (int i = 0; i < thread_count; i++) {
        const struct thread *t = &threads[i];
        const struct thread *by = t->lock != NULL ? find(t->lock)->by : NULL;
        if (by == t)
            check_fail(LOCK_HINT, "%s locks a mutex that it has locked already", t->is->name);
        if (by != NULL)
            check_fail(LOCK_HINT, "%s waits for a mutex that %s has locked, and nobody unlocks it",
                       t->is->name, by->is->name);
    }
    check_fail(asleep_hint, "%s", asleep_text);
}

/* The threads that can go on, beginning with `last`. A thread that may not be put off any more is
 * the only one. */
static int candidates(struct thread *last, struct thread *found[THREADS_MAX])
{
    int count = 0;
    bool goes_on = can_go_on(last);
    if (goes_on)
        found[count++] = last;
    if (goes_on && (switches == SWITCHES_MAX || point_count >= POINTS_MAX))
        return count;
    for (int i = 0; i < thread_count; i++)
        if (&threads[i] != last && can_go_on(&threads[i]))
            found[count++] = &threads[i];
    return count;
}

/* NULL: all have ended. */
static struct thread *choose(struct thread *last)
{
    struct thread *found[THREADS_MAX];
    int count = candidates(last, found);
    if (count == 0) {
        for (int i = 0; i < thread_count; i++)
            if (!threads[i].ended)
                fail_stuck();
        return NULL;
    }
    progress++;
    if (point_count >= POINTS_MAX)
        return found[0];
    struct point *point = &points[point_count++];
    if (point_count > given)
        point->taken = 0;
    point->count = (unsigned char)count;
    if (point->taken >= count) /* the module does not repeat itself */
        point->taken = 0;
    if (point->taken > 0 && found[0] == last)
        switches++;
    return found[point->taken];
}

/* Lets the thread go on that is chosen now, and waits until it is this one's turn again. */
static void give_turn(struct thread *t)
{
    mine = NULL;
    struct thread *next = choose(t);
    if (next == NULL) {
        sem_post(&over);
    } else if (next != t) {
        sem_post(&next->turn);
        if (!t->ended)
            sem_wait(&t->turn);
    }
    mine = t;
}

static struct thread *say(const char *call)
{
    struct thread *t = mine;
    mine = NULL;
    check_step("lets %s call %s", t->is->name, call);
    mine = t;
    return t;
}

/* The calls */

static int real_mutex(const char *name, pthread_mutex_t *lock)
{
    int (*real)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, name);
    return real(lock);
}

int pthread_mutex_lock(pthread_mutex_t *lock)
{
    if (mine == NULL || lock == &check_lock)
        return real_mutex("pthread_mutex_lock", lock);
    struct thread *t = mine;
    t->lock = lock;
    give_turn(t);
    t->lock = NULL;
    find(lock)->by = t;
    say("pthread_mutex_lock()");
    return 0;
}

int pthread_mutex_trylock(pthread_mutex_t *lock)
{
    if (mine == NULL || lock == &check_lock)
        return real_mutex("pthread_mutex_trylock", lock);
    give_turn(mine);
    struct held *one = find(lock);
    bool free = one->by == NULL;
    if (free)
        one->by = mine;
    say("pthread_mutex_trylock()");
    return free ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t *lock)
{
    if (mine == NULL || lock == &check_lock)
        return real_mutex("pthread_mutex_unlock", lock);
    find(lock)->by = NULL;
    give_turn(say("pthread_mutex_unlock()"));
    return 0;
}

ssize_t write(int fd, const void *data, size_t size)
{
    if (mine != NULL) {
        give_turn(mine);
        say("write()");
    }
    return syscall(SYS_write, fd, data, size);
}

ssize_t read(int fd, void *data, size_t size)
{
    if (mine != NULL) {
        give_turn(mine);
        say("read()");
    }
    return syscall(SYS_read, fd, data, size);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct thread *t = mine;
    if (t == NULL || timeout_ms == 0)
        return (int)syscall(SYS_poll, fds, count, timeout_ms);
    say("poll()");
    t->fds = fds;
    t->fd_count = count;
    give_turn(t);
    t->fds = NULL;
    return (int)syscall(SYS_poll, fds, count, 0);
}

/* An order */

static void *run(void *context)
{
    struct thread *t = context;
    sem_wait(&t->turn);
    mine = t;
    t->is->work(t->is->context);
    t->ended = true;
    give_turn(t);
    return NULL;
}

/* Waits until all threads have ended. False: one waits for something else. */
static bool wait_for_all(void)
{
    for (int before = -1; before != progress;) {
        before = progress;
        struct timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += STUCK_SECONDS;
        if (sem_timedwait(&over, &end) == 0)
            return true;
    }
    return false;
}

static bool run_order(const struct orders_thread *all)
{
    point_count = switches = 0;
    memset(held, 0, sizeof held);
    for (int i = 0; i < thread_count; i++) {
        threads[i] = (struct thread){.is = &all[i]};
        sem_init(&threads[i].turn, 0, 0);
        check_thread(&threads[i].pthread, run, &threads[i]);
    }
    sem_post(&choose(&threads[0])->turn);
    if (!wait_for_all())
        return false;
    for (int i = 0; i < thread_count; i++)
        pthread_join(threads[i].pthread, NULL);
    return true;
}

/* The last point at which another thread can go on is the next to differ. False: there is none. */
static bool next_order(void)
{
    while (point_count > 0 && points[point_count - 1].taken + 1 >= points[point_count - 1].count)
        point_count--;
    given = point_count;
    if (point_count == 0)
        return false;
    points[point_count - 1].taken++;
    return true;
}

int orders_try(const struct orders_thread *all, int count, void (*prepare)(void),
               void (*finish)(void), const char *hint, const char *asleep)
{
    thread_count = count;
    asleep_hint = hint;
    asleep_text = asleep;
    given = 0;
    sem_init(&over, 0, 0);
    int orders = 0;
    do {
        check_case();
        prepare();
        if (!run_order(all))
            break;
        finish();
        orders++;
    } while (orders < ORDERS_MAX && next_order());
    return orders;
}

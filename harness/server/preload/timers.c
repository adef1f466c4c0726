/* Timers of the kernel, on a clock that the harness moves. A timerfd is an eventfd: a thread that
 * waits (wait_again() in waits.c) writes to it what has expired. The signals of setitimer() and
 * alarm() are sent by the harness, which moves the clock: so they also come where no thread waits
 * in a call of ours. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static _Atomic bool in_use; /* by this process: a timerfd */

bool timers_in_use(void)
{
    return in_use;
}

/* A new timer of this process, not armed. NULL: there are too many. */
static struct timer *new_timer(enum timer_kind kind, int which, clockid_t clock)
{
    for (int i = 0; i < TIMERS; i++) {
        struct timer *timer = &shared->timer[i];
        uint32_t nobody = 0;
        if (!atomic_compare_exchange_strong(&timer->pid, &nobody, (uint32_t)getpid()))
            continue;
        timer->due_ns = NO_DUE;
        timer->interval_ns = 0;
        timer->clock = clock;
        timer->which = which;
        timer->kind = kind;
        return timer;
    }
    return NULL;
}

static struct timer *find_timer(enum timer_kind kind, int which)
{
    for (int i = 0; shared != NULL && i < TIMERS; i++) {
        struct timer *timer = &shared->timer[i];
        if (timer->kind == kind && timer->which == which && timer->pid == (uint32_t)getpid())
            return timer;
    }
    return NULL;
}

static void give_back(struct timer *timer)
{
    timer->due_ns = NO_DUE;
    timer->kind = NO_TIMER;
    timer->pid = 0;
}

static struct itimerspec value_of(const struct timer *timer)
{
    int64_t due = timer->due_ns, now = clock_now(timer->clock);
    int64_t left = due == NO_DUE ? 0 : due > now ? due - now : 1;
    return (struct itimerspec){.it_value = clock_timespec(left),
                               .it_interval = clock_timespec(timer->interval_ns)};
}

static bool is_valid(const struct timespec *time)
{
    return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}

static int set(struct timer *timer, bool absolute, const struct itimerspec *new,
               struct itimerspec *old)
{
    if (!is_valid(&new->it_value) || !is_valid(&new->it_interval)) {
        errno = EINVAL;
        return -1;
    }
    if (old != NULL)
        *old = value_of(timer);
    int64_t value = clock_ns(new->it_value.tv_sec, new->it_value.tv_nsec);
    timer->interval_ns = clock_ns(new->it_interval.tv_sec, new->it_interval.tv_nsec);
    int64_t due = absolute ? value : clock_now(timer->clock) + value;
    timer->due_ns = value != 0 ? due : NO_DUE;
    return 0;
}

/* Timers that are descriptors */

/* Says how often it has expired; a read() of it gets that. */
static bool fire(struct timer *timer)
{
    int64_t due = timer->due_ns, now = clock_now(timer->clock), interval = timer->interval_ns;
    if (timer->kind != TIMER_DESCRIPTOR || due > now || timer->pid != (uint32_t)getpid())
        return false;
    uint64_t times = 1 + (interval > 0 ? (uint64_t)((now - due) / interval) : 0);
    int64_t next = interval > 0 ? due + (int64_t)times * interval : NO_DUE;
    if (!atomic_compare_exchange_strong(&timer->due_ns, &due, next))
        return false; /* another thread was faster */
    return REAL(write)(timer->which, &times, sizeof times) > 0;
}

bool timers_fire(void)
{
    bool fired = false;
    for (int i = 0; in_use && i < TIMERS; i++)
        fired |= fire(&shared->timer[i]);
    return fired;
}

void timers_closing(int fd)
{
    struct timer *timer = in_use ? find_timer(TIMER_DESCRIPTOR, fd) : NULL;
    if (timer != NULL)
        give_back(timer);
}

bool timers_await(int fd)
{
    if (!in_use || find_timer(TIMER_DESCRIPTOR, fd) == NULL || !sockets_blocking(fd, 0))
        return true;
    struct pollfd expired = {.fd = fd, .events = POLLIN};
    return poll(&expired, 1, -1) >= 0;
}

#pragma GCC visibility push(default)

int timerfd_create(int clock, int flags)
{
    if (!clock_is_ours(clock))
        return CALL(timerfd_create, clock, flags);
    int fd = eventfd(0, flags); /* its flags have the same values */
    if (fd >= 0 && new_timer(TIMER_DESCRIPTOR, fd, clock) != NULL) {
        in_use = true;
        return fd;
    }
    if (fd >= 0)
        REAL(close)(fd);
    return CALL(timerfd_create, clock, flags);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
    struct timer *timer = find_timer(TIMER_DESCRIPTOR, fd);
    if (timer == NULL)
        return CALL(timerfd_settime, fd, flags, new, old);
    struct pollfd expired = {.fd = fd, .events = POLLIN};
    uint64_t times; /* of the old time: nobody has read them */
    if (REAL(poll)(&expired, 1, 0) > 0 && REAL(read)(fd, &times, sizeof times) < 0)
        return -1;
    if (set(timer, flags & TFD_TIMER_ABSTIME, new, old) < 0)
        return -1;
    fire(timer);
    return 0;
}

int timerfd_gettime(int fd, struct itimerspec *value)
{
    struct timer *timer = find_timer(TIMER_DESCRIPTOR, fd);
    if (timer == NULL)
        return CALL(timerfd_gettime, fd, value);
    *value = value_of(timer);
    return 0;
}

/* Timers that send a signal */

static struct itimerspec exact(const struct itimerval *value)
{
    return (struct itimerspec){
        .it_value = {value->it_value.tv_sec, value->it_value.tv_usec * 1000},
        .it_interval = {value->it_interval.tv_sec, value->it_interval.tv_usec * 1000}};
}

static struct itimerval rounded(const struct itimerspec *value)
{
    return (struct itimerval){
        .it_value = {value->it_value.tv_sec, value->it_value.tv_nsec / 1000},
        .it_interval = {value->it_interval.tv_sec, value->it_interval.tv_nsec / 1000}};
}

/* The program sets a timer of the kernel. */
static void note_kernel_timer(void)
{
    if (shared != NULL)
        shared->kernel_timers++;
}

/* The one of setitimer() and alarm(); NULL where it is the kernel's. */
static struct timer *interval_timer(void)
{
    if (!clock_is_ours(CLOCK_MONOTONIC))
        return NULL;
    struct timer *timer = find_timer(TIMER_SIGNAL, SIGALRM);
    return timer != NULL ? timer : new_timer(TIMER_SIGNAL, SIGALRM, CLOCK_MONOTONIC);
}

int setitimer(__itimer_which_t which, const struct itimerval *restrict new,
              struct itimerval *restrict old)
{
    struct timer *timer = which == ITIMER_REAL && new != NULL ? interval_timer() : NULL;
    if (timer == NULL) {
        note_kernel_timer();
        return CALL(setitimer, which, new, old);
    }
    struct itimerspec wanted = exact(new), before;
    int result = set(timer, false, &wanted, &before);
    if (result == 0 && old != NULL)
        *old = rounded(&before);
    return result;
}

int getitimer(__itimer_which_t which, struct itimerval *value)
{
    struct timer *timer = which == ITIMER_REAL ? interval_timer() : NULL;
    if (timer == NULL)
        return CALL(getitimer, which, value);
    struct itimerspec left = value_of(timer);
    *value = rounded(&left);
    return 0;
}

unsigned int alarm(unsigned int seconds)
{
    struct timer *timer = interval_timer();
    if (timer == NULL) {
        note_kernel_timer();
        return REAL(alarm)(seconds);
    }
    struct itimerspec new = {.it_value.tv_sec = seconds}, old;
    set(timer, false, &new, &old);
    return (unsigned)old.it_value.tv_sec + (old.it_value.tv_nsec > 0);
}

/* The timers of timer_create() are always the kernel's. */
int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict id)
{
    note_kernel_timer();
    return CALL(timer_create, clock, event, id);
}

/* Where each thread waits, and until when. The harness reads that. On its clock a wait with a limit
 * is made in slices of real time: it ends when something is ready, or the clock has reached the
 * limit. So no signal, descriptor or thread of ours is needed to end it. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t SHORTEST = 1000000, LONGEST = 5000000; /* ns, of a slice */
#define PART 8 /* of the time waited so far: a slice gets longer with it */

static _Thread_local struct waiter *mine; /* NULL: this thread has not waited yet */
static pthread_key_t at_end;

static void give_back(void *place)
{
    struct waiter *waiter = place;
    waiter->waits = 0;
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
    waiter->waits = 0;
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

/* The length of the next slice. On a clock that goes on by itself none lasts beyond the limit. */
static void set_slice(struct wait *wait)
{
    int64_t slice = (int64_t)(record_now() - wait->began_ns) / PART;
    slice = slice < SHORTEST ? SHORTEST : slice > LONGEST ? LONGEST : slice;
    int64_t left = wait_left(wait);
    if (left == 0 || (shared->clock.mode != STANDS && left < slice))
        slice = left;
    wait->slice = clock_timespec(slice);
}

/* Between two slices no handler may run: a wait that a signal interrupts has to fail, and a call
 * with a set of signals lets them come only while it waits. */
static void begin_slices(struct wait *wait)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &wait->before);
    wait->mask = wait->set != NULL ? *wait->set : wait->before;
    wait->set = &wait->mask;
    wait->began_ns = record_now();
    set_slice(wait);
    wait->limit = &wait->slice;
}

void wait_begin(struct wait *wait, enum call call, int fd, const struct timespec *limit,
                const sigset_t *set)
{
    *wait = (struct wait){.limit = limit, .set = set, .due_ns = NO_DUE};
    int64_t limit_ns = limit_of(limit);
    if (shared == NULL || limit_ns == 0)
        return;
    int saved = errno;
    if (mine == NULL)
        mine = find_mine();
    uint32_t generation = shared->clock.generation;
    int64_t now = clock_now(CLOCK_MONOTONIC);
    if (limit_ns != NO_LIMIT)
        wait->due_ns = limit_ns < NO_DUE - 1 - now ? now + limit_ns : NO_DUE - 1;
    if (mine != NULL) {
        mine->call = call;
        mine->fd = fd;
        mine->due_ns = wait->due_ns;
        mine->seen = generation;
        mine->count++;
        mine->waits = 1;
    }
    wait->noted = true;
    wait->sliced = clock_is_ours(CLOCK_MONOTONIC) && limit_ns != NO_LIMIT;
    if (wait->sliced)
        begin_slices(wait);
    errno = saved;
}

int64_t wait_left(const struct wait *wait)
{
    int64_t now = clock_now(CLOCK_MONOTONIC);
    return wait->due_ns > now ? wait->due_ns - now : 0;
}

bool wait_again(struct wait *wait, bool nothing)
{
    if (!wait->sliced || !nothing)
        return false;
    uint32_t generation = shared->clock.generation;
    bool over = wait_left(wait) == 0;
    if (mine != NULL)
        mine->seen = generation;
    set_slice(wait);
    return !over;
}

void wait_end(struct wait *wait)
{
    int saved = errno;
    if (wait->noted && mine != NULL)
        mine->waits = 0;
    if (wait->sliced)
        pthread_sigmask(SIG_SETMASK, &wait->before, NULL);
    errno = saved;
}

/* The functions that a server calls */

static int poll_for(enum call call, struct pollfd *fds, nfds_t count, const struct timespec *limit,
                    const sigset_t *set)
{
    struct turn turn = turn_begin(call, -1, count, 0);
    int ready;
    watched_poll(call, fds, count);
    if (turn.error != 0)
        return (int)turn_fail(&turn);
    struct wait wait;
    wait_begin(&wait, call, -1, limit, set);
    do
        ready = REAL(ppoll)(fds, count, wait.limit, wait.set);
    while (wait_again(&wait, ready == 0));
    wait_end(&wait);
    if (ready > 0)
        watched_poll_ready(call, fds, count);
    return (int)turn_end(&turn, ready);
}

/* What the next call has as time-out, in ms: it may come after a pause, see turn_was_paused(). */
static int next_time_out(const struct wait *wait, int timeout)
{
    if (!wait->noted || timeout < 0)
        return timeout;
    int64_t left = wait->sliced ? limit_of(wait->limit) : wait_left(wait);
    return (int)((left + 999999) / 1000000);
}

static int epoll_for(enum call call, int epfd, struct epoll_event *events, int room, int timeout,
                     const sigset_t *set)
{
    struct timespec limit = clock_timespec((int64_t)timeout * 1000000);
    struct turn turn = turn_begin(call, epfd, 0, 0);
    if (turn.error != 0)
        return (int)turn_fail(&turn);
    struct wait wait;
    int ready;
    wait_begin(&wait, call, epfd, timeout < 0 ? NULL : &limit, set);
    do
        ready = REAL(epoll_pwait)(epfd, events, room, next_time_out(&wait, timeout), wait.set);
    while (wait_again(&wait, ready == 0) || (ready < 0 && turn_was_paused(&turn)));
    wait_end(&wait);
    if (ready > 0)
        watched_epoll_ready(&turn, events, ready);
    return (int)turn_end(&turn, ready);
}

/* FD_ISSET() is for sets of FD_SETSIZE descriptors alone. */
static bool is_in(int fd, const void *set)
{
    return set != NULL && ((const fd_mask *)set)[fd / NFDBITS] >> (fd % NFDBITS) & 1;
}

/* Records what the sets say: what the wait is for, or what is `ready`. */
static void watched_select(enum call call, int size, fd_set *const sets[3], bool ready)
{
    static const short events[] = {POLLIN, POLLOUT, POLLPRI};
    for (int fd = 0; shared != NULL && shared->detail != 0 && fd < size; fd++) {
        struct pollfd one = {.fd = fd};
        for (int i = 0; i < 3; i++)
            one.events |= is_in(fd, sets[i]) ? events[i] : 0;
        one.revents = one.events;
        (ready ? watched_poll_ready : watched_poll)(call, &one, 1);
    }
}

/* Sets may be larger than FD_SETSIZE, or smaller: what they are given for is `size` descriptors. */
static int select_for(enum call call, int size, fd_set *const sets[3], const struct timespec *limit,
                      const sigset_t *set)
{
    if (size < 0 || size > FDS_MAX)
        return REAL(pselect)(size, sets[0], sets[1], sets[2], limit, set);
    struct turn turn = turn_begin(call, -1, (size_t)size, 0);
    size_t bytes = ((size_t)size + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
    char asked[3][FDS_MAX / 8];
    struct wait wait;
    int ready;
    if (turn.error != 0)
        return (int)turn_fail(&turn);
    watched_select(call, size, sets, false);
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL)
            memcpy(asked[i], sets[i], bytes);
    wait_begin(&wait, call, -1, limit, set);
    do { /* a slice leaves in the sets what was ready */
        for (int i = 0; i < 3; i++)
            if (sets[i] != NULL)
                memcpy(sets[i], asked[i], bytes);
        ready = REAL(pselect)(size, sets[0], sets[1], sets[2], wait.limit, wait.set);
    } while (wait_again(&wait, ready == 0));
    wait_end(&wait);
    if (ready > 0)
        watched_select(call, size, sets, true);
    return (int)turn_end(&turn, ready);
}

#pragma GCC visibility push(default)

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *set)
{
    return poll_for(CALL_ppoll, fds, count, limit, set);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    struct timespec limit = clock_timespec((int64_t)timeout * 1000000);
    return poll_for(CALL_poll, fds, count, timeout < 0 ? NULL : &limit, NULL);
}

/* What a program built with _FORTIFY_SOURCE calls: `room` are the bytes at `fds`. */
_Noreturn void __chk_fail(void);

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
    return count <= room / sizeof *fds ? poll(fds, count, timeout) : (__chk_fail(), 0);
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *set,
                size_t room)
{
    return count <= room / sizeof *fds ? ppoll(fds, count, limit, set) : (__chk_fail(), 0);
}

int pselect(int size, fd_set *in, fd_set *out, fd_set *urgent, const struct timespec *limit,
            const sigset_t *set)
{
    return select_for(CALL_pselect, size, (fd_set *[]){in, out, urgent}, limit, set);
}

/* As Linux does it, select() leaves in its limit what is left of it. */
int select(int size, fd_set *in, fd_set *out, fd_set *urgent, struct timeval *timeout)
{
    fd_set *sets[] = {in, out, urgent};
    if (timeout == NULL)
        return select_for(CALL_select, size, sets, NULL, NULL);
    struct timespec limit = {.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000,
                             .tv_nsec = timeout->tv_usec % 1000000 * 1000};
    int64_t began = clock_now(CLOCK_MONOTONIC);
    int ready = select_for(CALL_select, size, sets, &limit, NULL);
    int64_t left = limit_of(&limit) - (clock_now(CLOCK_MONOTONIC) - began);
    limit = clock_timespec(left > 0 ? left : 0);
    *timeout = (struct timeval){.tv_sec = limit.tv_sec, .tv_usec = limit.tv_nsec / 1000};
    return ready;
}

int epoll_wait(int epfd, struct epoll_event *events, int room, int timeout)
{
    return epoll_for(CALL_epoll_wait, epfd, events, room, timeout, NULL);
}

int epoll_pwait(int epfd, struct epoll_event *events, int room, int timeout, const sigset_t *set)
{
    return epoll_for(CALL_epoll_pwait, epfd, events, room, timeout, set);
}

/* Not scheduled, but remembered. */
int epoll_ctl(int epfd, int operation, int fd, struct epoll_event *event)
{
    int result = REAL(epoll_ctl)(epfd, operation, fd, event);
    if (result == 0 && shared != NULL) {
        sockets_watched(epfd, operation, fd, event);
        watched_epoll(fd, operation != EPOLL_CTL_DEL ? event : NULL);
    }
    return result;
}

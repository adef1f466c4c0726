/* One call from its beginning to its end: it is counted, the schedule may change it, and it is
 * recorded. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static const enum group GROUPS[CALLS] = {
#define CALL_GROUP(name, does) (enum group)(does),
    EACH_CALL(CALL_GROUP)
#undef CALL_GROUP
};

/* A line in the log is no reply: transfers count only above stderr. */
static void count(enum group group, int fd)
{
    _Atomic uint64_t *number = NULL;
    if (group == OUTPUT && fd > STDERR_FILENO)
        number = &shared->outputs;
    else if (group == INPUT && fd > STDERR_FILENO)
        number = &shared->inputs;
    else if (group == WAIT)
        number = &shared->waits;
    else if (group == ACCEPT)
        number = &shared->accepts;
    if (number != NULL)
        atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
}

static bool is_transfer(enum group group)
{
    return group == INPUT || group == OUTPUT;
}

static bool moves(const struct turn *turn, int64_t result)
{
    if (is_transfer(turn->group))
        return result > 0 && turn->fd > STDERR_FILENO;
    return turn->group == CLOSE || (turn->group == ACCEPT && result >= 0);
}

static void record(const struct turn *turn, int64_t result, int error, int flags)
{
    shared->under_way = 0;
    record_entry((struct entry){.start_ns = turn->start_ns,
                                .size = (int64_t)turn->asked,
                                .result = result,
                                .fd = turn->fd,
                                .connection = turn->connection,
                                .error = result < 0 ? error : 0,
                                .call = (uint16_t)turn->call,
                                .flags = (uint16_t)flags},
                 moves(turn, result));
}

/* Returns true if the plan applies to this call: only calls on accepted connections count. */
static bool matches(const struct plan *plan, const struct turn *turn)
{
    if (turn->flags & MSG_PEEK) /* it takes nothing, and so it can use up no step */
        return false;
    if (!(plan->groups & turn->group) || turn->asked < plan->at_least)
        return false;
    if (is_transfer(turn->group) || turn->group == CLOSE)
        return turn->connection != NO_CONNECTION &&
               (plan->connection == ANY || plan->connection == turn->connection);
    return true;
}

/* Returns true if the call could transfer something, so that it counts. A blocking call always can. */
static bool counts(const struct turn *turn)
{
    if (is_transfer(turn->group) && turn->asked == 0)
        return false;
    if (!is_transfer(turn->group) && turn->group != ACCEPT)
        return true;
    return sockets_blocking(turn->fd, turn->flags) || sockets_ready(turn->fd, turn->group);
}

static const struct step *step_of(const struct plan *plan, uint32_t at)
{
    return &plan->step[at % plan->steps];
}

/* What a kernel never does: EAGAIN of a call that may wait. */
static bool impossible(const struct step *step, const struct turn *turn)
{
    return step->error == EAGAIN && sockets_blocking(turn->fd, turn->flags);
}

static void fire(struct plan *plan, const struct turn *turn)
{
    plan->hit = sockets_peer(turn->fd);
    atomic_fetch_add_explicit(&plan->fired, 1, memory_order_relaxed);
}

static void limit(struct turn *turn, struct plan *plan, uint64_t bytes)
{
    if (bytes >= turn->asked)
        return;
    turn->size = (size_t)bytes;
    fire(plan, turn);
}

/* Waits until the schedule is another. Returns 0, or EINTR if a signal comes. */
static int wait_for_nothing(const struct turn *turn)
{
    int result = 0;
    while (result == 0 && turn->generation == shared->generation)
        result = REAL(poll)(NULL, 0, 1);
    return result < 0 ? EINTR : 0;
}

/* The step that is next in line. */
static void apply_next(struct turn *turn, struct plan *plan)
{
    uint32_t at = plan->at, next;
    const struct step *step;
    do { /* several processes of the server may be here at once: each step is for one of them */
        for (next = at; next - at < plan->steps; next++)
            if (!impossible(step = step_of(plan, next), turn))
                break;
        if (next - at == plan->steps || (!plan->cycles && next >= plan->steps))
            return;
    } while (!atomic_compare_exchange_weak(&plan->at, &at, next + (step->limit == 0)));
    if (step->limit != 0) {
        limit(turn, plan, step->limit - plan->moved);
        turn->plan = plan;
        return;
    }
    if (step->error == 0)
        return;
    turn->error = step->error;
    fire(plan, turn);
    if (step->error == SPURIOUS)
        turn->error = sockets_blocking(turn->fd, turn->flags) ? wait_for_nothing(turn) : EAGAIN;
}

/* Looks for a step for this call: sets error, or size and plan, of `turn`. */
static void schedule_apply(struct turn *turn)
{
    turn->generation = shared->generation;
    if (turn->generation & 1)
        return;
    for (uint32_t i = 0; i < shared->plans && i < PLANS_MAX; i++) {
        struct plan *plan = &shared->plan[i];
        if (!matches(plan, turn))
            continue;
        if (plan->steps == 0 || plan->steps > STEPS_MAX || !counts(turn))
            return;
        uint64_t n = atomic_fetch_add_explicit(&plan->calls, 1, memory_order_relaxed);
        if (n >= plan->skip)
            apply_next(turn, plan);
        return;
    }
}

/* Takes note of how many bytes the call has moved. */
static void schedule_moved(struct turn *turn, ssize_t result)
{
    struct plan *plan = turn->plan;
    if (plan == NULL || result <= 0 || turn->generation != shared->generation)
        return;
    uint32_t at = plan->at;
    uint32_t moved = plan->moved + (uint32_t)result;
    if (moved >= step_of(plan, at)->limit) {
        moved = 0;
        plan->at = at + 1;
    }
    plan->moved = moved;
}

/* The turn */

struct turn turn_begin(enum call call, int fd, size_t size, int flags)
{
    struct turn turn = {.call = call, .group = GROUPS[call], .fd = fd, .flags = flags};
    turn.asked = turn.size = size;
    turn.connection = NO_CONNECTION;
    if (shared == NULL)
        return turn;
    int saved = errno;
    bool moves = (turn.group & (INPUT | OUTPUT | CLOSE)) != 0;
    turn.connection = moves ? sockets_identified(fd) : sockets_connection(fd);
    turn.pauses = shared->pauses;
    turn.signals = shared->signals;
    count(turn.group, fd);
    schedule_apply(&turn);
    turn.start_ns = record_now();
    if (shared->detail != 0) {
        shared->under_way_fd = fd;
        shared->under_way_size = (int64_t)size;
        shared->under_way_since = turn.start_ns;
        shared->under_way = call + 1;
    }
    errno = saved;
    return turn;
}

bool turn_was_paused(struct turn *turn)
{
    if (shared == NULL || errno != EINTR || shared->signals != turn->signals)
        return false;
    uint32_t pauses = turn->pauses;
    turn->pauses = shared->pauses;
    return turn->pauses != pauses;
}

ssize_t turn_fail(struct turn *turn)
{
    record(turn, -1, turn->error, FAULT);
    sockets_rearm(turn->fd);
    if (turn->error == EPIPE && !(turn->flags & MSG_NOSIGNAL))
        raise(SIGPIPE); /* as the kernel does */
    errno = turn->error;
    return -1;
}

ssize_t turn_end(struct turn *turn, ssize_t result)
{
    if (shared == NULL)
        return result;
    int saved = errno;
    bool cut = turn->size < turn->asked;
    schedule_moved(turn, result);
    int flags = cut || turn->error != 0 ? FAULT : 0;
    if (turn->closed_before && result < 0 && saved == EBADF)
        flags |= CLOSED_TWICE;
    record(turn, result, saved, flags);
    if (cut)
        sockets_rearm(turn->fd);
    errno = saved;
    return result;
}

/* For alloc.c. An allocation that goes through is not recorded: there are too many. */
__attribute__((visibility("default"))) bool shim_allocation_fails(size_t size);

bool shim_allocation_fails(size_t size)
{
    if (shared == NULL || shared->plans == 0)
        return false;
    struct turn turn = turn_begin(CALL_malloc, -1, size, 0);
    if (turn.error != 0)
        turn_fail(&turn);
    return turn.error != 0;
}

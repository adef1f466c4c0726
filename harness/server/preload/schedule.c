#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <sys/socket.h>

/* SplitMix64 of Steele, Lea and Flood (2014), the n-th number of the sequence of `seed`. */
static uint64_t draw(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static bool is_transfer(enum group group)
{
    return group == INPUT || group == OUTPUT;
}

/* Whether the plan is about calls like this one. Only connections that were accepted count. */
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

/* Whether the call could get something done, so that it counts. A blocking call always will. */
static bool counts(const struct turn *turn)
{
    if (is_transfer(turn->group) && turn->asked == 0)
        return false;
    if (!is_transfer(turn->group) && turn->group != ACCEPT)
        return true;
    return sockets_blocking(turn->fd, turn->flags) || sockets_ready(turn->fd, turn->group);
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

/* The step that was drawn for the n-th call. */
static void apply_drawn(struct turn *turn, struct plan *plan, uint64_t n)
{
    uint64_t chance = draw(plan->seed, n);
    const struct step *step = &plan->step[chance % plan->steps];
    if (impossible(step, turn))
        return;
    if (step->error != 0) {
        turn->error = step->error;
        fire(plan, turn);
    } else if (step->limit != 0) {
        limit(turn, plan, 1 + (chance >> 32) % step->limit);
    }
}

/* The step that is next in line. */
static void apply_next(struct turn *turn, struct plan *plan)
{
    uint32_t at = plan->at, next;
    do { /* several processes of the server may be here at once: each step is for one of them */
        next = at;
        while (next < plan->steps && impossible(&plan->step[next], turn))
            next++;
        if (next >= plan->steps)
            return;
    } while (!atomic_compare_exchange_weak(&plan->at, &at, next + (plan->step[next].limit == 0)));
    const struct step *step = &plan->step[next];
    if (step->limit != 0) {
        limit(turn, plan, step->limit - plan->moved);
        turn->plan = plan;
        return;
    }
    if (step->error == 0)
        return;
    turn->error = step->error;
    if (turn->group == WAIT)
        turn->connection = plan->connection;
    fire(plan, turn);
}

void schedule_apply(struct turn *turn)
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
        if (n < plan->skip)
            return;
        if (plan->seed != 0)
            apply_drawn(turn, plan, n);
        else
            apply_next(turn, plan);
        return;
    }
}

void schedule_moved(struct turn *turn, ssize_t result)
{
    struct plan *plan = turn->plan;
    if (plan == NULL || result <= 0 || turn->generation != shared->generation)
        return;
    uint32_t at = plan->at;
    uint32_t moved = plan->moved + (uint32_t)result;
    if (at < plan->steps && moved >= plan->step[at].limit) {
        moved = 0;
        plan->at = at + 1;
    }
    plan->moved = moved;
}

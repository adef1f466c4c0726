#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
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

/* What must not be pushed out of the record: see enum table. */
static enum table table_of(const struct turn *turn, int64_t result)
{
    bool transfer = turn->group == INPUT || turn->group == OUTPUT;
    if (transfer && result > 0 && turn->fd > STDERR_FILENO)
        return MAJOR;
    return turn->group == CLOSE || (turn->group == ACCEPT && result >= 0) ? MAJOR : MINOR;
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
                 table_of(turn, result));
}

void turn_watched(const struct turn *turn, int fd, unsigned interest, unsigned ready)
{
    record_entry((struct entry){.start_ns = record_now(),
                                .size = interest,
                                .result = ready,
                                .fd = fd,
                                .connection = sockets_connection(fd),
                                .call = (uint16_t)turn->call,
                                .flags = FLAG_WATCHED},
                 MINOR);
}

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
        shared->under_way_size = size;
        shared->under_way_since = turn.start_ns;
        shared->under_way = (uint64_t)(call + 1) << 32 | (uint32_t)fd;
    }
    errno = saved;
    return turn;
}

bool turn_was_paused(struct turn *turn)
{
    bool epoll = turn->call >= CALL_epoll_wait && turn->call <= CALL_epoll_pwait2;
    if (!epoll || shared == NULL || errno != EINTR || shared->signals != turn->signals)
        return false;
    uint32_t pauses = turn->pauses;
    turn->pauses = shared->pauses;
    return turn->pauses != pauses;
}

ssize_t turn_fail(struct turn *turn)
{
    record(turn, -1, turn->error, FLAG_FAULT);
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
    int flags = cut || turn->error != 0 ? FLAG_FAULT : 0;
    if (turn->closed_before && result < 0 && saved == EBADF)
        flags |= FLAG_CLOSED_TWICE;
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

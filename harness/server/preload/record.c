#define _GNU_SOURCE
#include "shim.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* The record of all calls. A server that spins makes millions of equal calls a second, which would
 * soon push everything else out. So where a trace is wanted, rounds of calls that come again, and
 * that move no bytes, are recorded twice and from then on counted, in an entry that is REPEATED. */

/* What a thread has recorded last: it finds out by itself whether that repeats. */
static _Thread_local struct {
    uint64_t last[2 * LONGEST_ROUND]; /* fingerprints of entries, by their number, modulo */
    uint64_t count;                   /* recorded or counted so far */
    unsigned round;                   /* entries in the round that repeats; 0: none does */
    bool moves;                       /* one of these moves bytes: it is not counted */
    struct entry *counter;            /* the entry that counts, or NULL */
    uint32_t stamp;                   /* of the counter; another one stands there: overwritten */
} mine;

static _Thread_local uint32_t thread; /* gettid(), 0: not asked yet */

static void forget_thread(void)
{
    thread = 0;
    mine.count = mine.round = 0;
    mine.counter = NULL;
}

void record_start(void)
{
    pthread_atfork(NULL, NULL, forget_thread);
}

uint64_t record_now(void)
{
    return (uint64_t)clock_machine(CLOCK_MONOTONIC);
}

static struct entry *append(struct entry entry)
{
    if (thread == 0)
        thread = (uint32_t)gettid();
    uint32_t number = atomic_fetch_add(&shared->recorded, 1);
    struct entry *place = &shared->entry[number % RECORD_ENTRIES];
    atomic_store(&place->stamp, 0);
    entry.took_ns = record_now() - entry.start_ns;
    entry.thread = thread;
    *place = entry; /* its stamp is 0 */
    atomic_store(&place->stamp, number + 1);
    return place;
}

/* The fingerprint of the entry so many calls ago; 0: the place of the next one. */
static uint64_t *recorded(uint64_t back)
{
    return &mine.last[(mine.count - back) % (2 * LONGEST_ROUND)];
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Equal for calls that are alike, whenever they were made. Its last bit is `moves`. */
static uint64_t fingerprint(const struct entry *entry, bool moves)
{
    uint64_t hash = mixed(1, (uint64_t)entry->size);
    hash = mixed(hash, (uint64_t)entry->result);
    hash = mixed(hash, (uint64_t)(uint32_t)entry->fd << 32 | (uint32_t)entry->connection);
    hash = mixed(hash, (uint64_t)(uint32_t)entry->error << 32 | (uint32_t)entry->call << 16 |
                           entry->flags);
    return hash << 1 | moves;
}

/* Did the last two rounds of this length look alike? */
static bool repeats(unsigned round)
{
    if (mine.count < 2 * round)
        return false;
    for (unsigned i = 1; i <= round; i++)
        if (*recorded(i) != *recorded(i + round))
            return false;
    return true;
}

static void find_round(void)
{
    mine.round = 0;
    for (unsigned round = 1; mine.round == 0 && round <= LONGEST_ROUND; round++)
        if (repeats(round))
            mine.round = round;
    mine.moves = false;
    for (unsigned i = 1; i <= mine.round; i++)
        mine.moves |= *recorded(i) & 1;
}

/* One more entry of the round that repeats: counted, and not recorded. */
static void count_one(uint64_t start_ns)
{
    if (mine.counter == NULL || atomic_load(&mine.counter->stamp) != mine.stamp) {
        mine.counter = append((struct entry){.start_ns = start_ns,
                                             .size = mine.round,
                                             .fd = -1,
                                             .connection = NO_CONNECTION,
                                             .flags = REPEATED});
        mine.stamp = atomic_load(&mine.counter->stamp);
    }
    mine.counter->took_ns = record_now() - mine.counter->start_ns;
    mine.counter->result++;
}

void record_entry(struct entry entry, bool moves)
{
    if (shared->detail == 0) {
        append(entry);
        return;
    }
    uint64_t print = fingerprint(&entry, moves);
    bool again = mine.round > 0 && print == *recorded(mine.round);
    *recorded(0) = print;
    mine.count++;
    if (again && !mine.moves) {
        count_one(entry.start_ns);
        return;
    }
    mine.counter = NULL;
    append(entry);
    if (!again)
        find_round();
}

/* What waits are for */

/* The interest that was recorded last, by descriptor. A wait for a thousand connections is recorded
 * only where something has changed or is ready. */
static _Atomic uint8_t told[FDS_MAX];

static bool wanted(void)
{
    return shared != NULL && shared->detail != 0;
}

static bool looked_after(int fd)
{
    return fd >= 0 && fd < FDS_MAX;
}

void watched_forget(int fd)
{
    if (looked_after(fd))
        told[fd] = 0;
}

static void append_watched(enum call call, int fd, unsigned interest, unsigned ready)
{
    record_entry((struct entry){.start_ns = record_now(),
                                .size = interest,
                                .result = ready,
                                .fd = fd,
                                .connection = sockets_connection(fd),
                                .call = (uint16_t)call,
                                .flags = WATCHED},
                 false);
}

static void tell(enum call call, int fd, unsigned interest)
{
    if (!looked_after(fd) || told[fd] == interest)
        return;
    told[fd] = (uint8_t)interest;
    append_watched(call, fd, interest, 0);
}

static void tell_ready(enum call call, int fd, unsigned ready)
{
    if (looked_after(fd) && ready != 0)
        append_watched(call, fd, told[fd], ready);
}

/* poll() and epoll name the same bits alike, and epoll has no POLLNVAL. */
static const struct {
    unsigned event;
    enum watched bit;
} BITS[] = {
    {POLLIN, IN},     {POLLOUT, OUT},    {POLLERR, ERROR},   {POLLHUP, HANGUP},
    {POLLRDHUP, END}, {POLLPRI, URGENT}, {POLLNVAL, CLOSED},
};

static unsigned bits(unsigned events)
{
    unsigned found = 0;
    for (size_t i = 0; i < sizeof BITS / sizeof BITS[0]; i++)
        found |= events & BITS[i].event ? BITS[i].bit : 0;
    return found;
}

/* Interest has no bits that are reported anyway. */
static unsigned interest(unsigned events)
{
    return bits(events & ~(unsigned)(POLLERR | POLLHUP | POLLNVAL));
}

void watched_poll(enum call call, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell(call, fds[i].fd, interest((unsigned short)fds[i].events));
}

void watched_poll_ready(enum call call, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; wanted() && i < count; i++)
        tell_ready(call, fds[i].fd, bits((unsigned short)fds[i].revents));
}

void watched_epoll(int fd, const struct epoll_event *event)
{
    if (wanted())
        tell(CALL_epoll_ctl, fd, event != NULL ? interest(event->events) : 0);
}

void watched_epoll_ready(const struct turn *turn, const struct epoll_event *events, int count)
{
    for (int i = 0; wanted() && i < count; i++) {
        uint64_t data = events[i].data.u64;
        for (int fd = sockets_meant(turn->fd, data, 0); fd >= 0;
             fd = sockets_meant(turn->fd, data, fd + 1))
            tell_ready(turn->call, fd, bits(events[i].events));
    }
}

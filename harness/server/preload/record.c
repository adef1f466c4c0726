#define _GNU_SOURCE
#include "shim.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* The record of all calls. A server that spins makes millions of equal calls a second, which would
 * soon push everything else out. So where a trace is wanted, rounds of calls that come again are
 * recorded twice and from then on counted, in an entry with FLAG_REPEATED, which grows. Rounds that
 * move bytes are only counted while the harness falls behind, since their times tell something. */

#define LONGEST_ROUND 256u     /* entries */
#define COUNTED_NS    1000000u /* of a round that moves bytes; then another entry counts */

/* What a thread has recorded last: it finds out by itself whether that repeats. */
static _Thread_local struct {
    uint64_t last[2 * LONGEST_ROUND]; /* fingerprints of entries, by their number, modulo */
    uint64_t count;                   /* recorded or counted so far */
    unsigned round;                   /* entries in the round that repeats; 0: none does */
    bool moves;                       /* it moves bytes, accepts or closes */
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

/* Puts an entry into the record; `entry` says all of it but how long it took, thread and stamp. */
static struct entry *append(struct entry entry, enum table table)
{
    if (thread == 0)
        thread = (uint32_t)gettid();
    uint32_t number = atomic_fetch_add(&shared->recorded, 1);
    uint32_t at = atomic_fetch_add(&shared->placed[table], 1);
    struct entry *place = &shared->entry[table][at % RECORD_ENTRIES];
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

/* Equal for calls that are alike, whenever they were made. Its last bit is the table. */
static uint64_t fingerprint(const struct entry *entry, enum table table)
{
    uint64_t hash = mixed(1, (uint64_t)entry->size);
    hash = mixed(hash, (uint64_t)entry->result);
    hash = mixed(hash, (uint64_t)(uint32_t)entry->fd << 32 | (uint32_t)entry->connection);
    hash = mixed(hash, (uint64_t)(uint32_t)entry->error << 32 | (uint32_t)entry->call << 16 |
                           entry->flags);
    return hash << 1 | table;
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
        mine.moves |= *recorded(i) & MAJOR;
}

/* Would the harness lose calls of the second table? */
static bool falls_behind(void)
{
    return shared->placed[MAJOR] - shared->taken > RECORD_ENTRIES / 2;
}

/* One more entry of the round that repeats: counted, and not recorded. */
static void count_one(uint64_t start_ns, bool another)
{
    if (another || mine.counter == NULL || atomic_load(&mine.counter->stamp) != mine.stamp) {
        mine.counter = append((struct entry){.start_ns = start_ns,
                                             .size = mine.round,
                                             .fd = -1,
                                             .connection = NO_CONNECTION,
                                             .flags = FLAG_REPEATED},
                              MAJOR);
        mine.stamp = atomic_load(&mine.counter->stamp);
    }
    mine.counter->took_ns = record_now() - mine.counter->start_ns;
    mine.counter->result++;
}

void record_entry(struct entry entry, enum table table)
{
    if (shared->detail == 0) {
        append(entry, table);
        return;
    }
    uint64_t print = fingerprint(&entry, table);
    bool again = mine.round > 0 && print == *recorded(mine.round);
    bool between = mine.counter == NULL || mine.counter->result % mine.round == 0;
    *recorded(0) = print;
    mine.count++;
    if (again && (!mine.moves || !between || falls_behind())) {
        bool long_enough = mine.counter != NULL && mine.counter->took_ns > COUNTED_NS;
        count_one(entry.start_ns, mine.moves && between && long_enough);
        return;
    }
    mine.counter = NULL;
    append(entry, table);
    if (!again)
        find_round();
}

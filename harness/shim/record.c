#define _GNU_SOURCE
#include "shim.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* The record of all calls. A server that spins makes millions of equal calls a second, which would
 * soon push everything else out. So where a trace is wanted, rounds of calls that move no bytes are
 * recorded twice, and from then on counted: in an entry with FLAG_REPEATED, which grows. */

#define LONGEST_ROUND 8 /* entries */

/* What a thread has recorded last: it finds out by itself whether that repeats. */
static _Thread_local struct {
    struct entry last[2 * LONGEST_ROUND]; /* by their number, modulo */
    uint64_t count;                       /* recorded since something has moved */
    unsigned round;                       /* entries in the round that repeats; 0: none does */
    struct entry *counter;                /* the entry that counts, or NULL */
    uint32_t stamp; /* of the counter; another one stands there: overwritten */
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
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Puts an entry into the record; `entry` says all of it but how long it took, thread and stamp. */
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

/* The entry that was recorded, or counted, so many calls ago; 0: the place of the next one. */
static struct entry *recorded(uint64_t back)
{
    return &mine.last[(mine.count - back) % (2 * LONGEST_ROUND)];
}

static bool equal(const struct entry *one, const struct entry *other)
{
    return one->call == other->call && one->flags == other->flags && one->fd == other->fd &&
           one->connection == other->connection && one->size == other->size &&
           one->result == other->result && one->error == other->error;
}

/* Did the last two rounds of this length look alike? */
static bool repeats(unsigned round)
{
    if (mine.count < 2 * round)
        return false;
    for (unsigned i = 1; i <= round; i++)
        if (!equal(recorded(i), recorded(i + round)))
            return false;
    return true;
}

static void find_round(void)
{
    mine.round = 0;
    for (unsigned round = 1; mine.round == 0 && round <= LONGEST_ROUND; round++)
        if (repeats(round))
            mine.round = round;
}

/* One more entry of the round that repeats: counted, and not recorded. */
static void count_one(uint64_t start_ns)
{
    if (mine.counter == NULL || atomic_load(&mine.counter->stamp) != mine.stamp) {
        mine.counter = append((struct entry){.start_ns = start_ns,
                                             .size = mine.round,
                                             .fd = -1,
                                             .connection = NO_CONNECTION,
                                             .flags = FLAG_REPEATED});
        mine.stamp = atomic_load(&mine.counter->stamp);
    }
    mine.counter->took_ns = record_now() - mine.counter->start_ns;
    mine.counter->result++;
}

void record_entry(struct entry entry, bool moves_bytes)
{
    if (shared->detail == 0 || moves_bytes) {
        mine.count = mine.round = 0;
        append(entry);
        return;
    }
    bool again = mine.round > 0 && equal(&entry, recorded(mine.round));
    *recorded(0) = entry;
    mine.count++;
    if (again) {
        count_one(entry.start_ns);
        return;
    }
    mine.counter = NULL;
    append(entry);
    find_round();
}

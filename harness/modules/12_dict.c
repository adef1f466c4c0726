/* The hash table: nothing is lost while it grows and shrinks, and each call moves little.
 * links: dict.c table.c? */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "dict.h"
#include "no_memory.h"

#define LOSES  "dict-loses"
#define GROWS  "dict-grows"
#define MOVES  "dict-moves"
#define SHRINK "dict-shrinks"
#define SCAN   "dict-scan"
#define PIECES "dict-pieces"
#define MEMORY "dict-memory"

enum {
    SMALL = 40, /* keys: of the small cases, which are tried often */
    CASES = 300,
    STEPS = 200,
    MANY = 30000,
    MOST = 100000,
    LOOKED_AT = 5000, /* keys whose pointers are compared after each call */
    A_CALL = 64,      /* moves of one call: some buckets, with a few entries each */
    MOST_MORE = 3,    /* entries, of a count that goes up and down again */
    LEFT = 10,
    LEFT_BYTES = 16 << 10, /* of memory, for so few */
    A_ROUND = 500,         /* calls */
    ROUNDS_TO_SHRINK = 40,
    TELL_AGAIN = 5000,
    MAPPINGS = 64,
    FIRST = 10000,             /* keys, of which the table moves some */
    AT_ONCE_BYTES = 256 << 10, /* that one call may give back: a quarter of the largest table */
    AT_ONCE_PAGES = 64,        /* that one call may be the first to use */
};

static struct entry *entries[MOST]; /* by the number of their key; NULL: not in the dict */
static size_t freed;

static void begin(struct dict *d, size_t most)
{
    check_case();
    if (most > MOST)
        check_impossible("there are pointers for %d keys", MOST);
    memset(entries, 0, most * sizeof *entries);
    dict_init(d);
}

static void count_freed(struct entry *entry)
{
    freed++;
    free(entry);
}

static void end(struct dict *d)
{
    size_t count = dict_count(d);
    freed = 0;
    dict_free(d, count_freed);
    CHECK(freed == count, LOSES, "dict_free() freed %zu of %zu entries", freed, count);
    CHECK(dict_count(d) == 0, LOSES, "after dict_free() there are %zu entries", dict_count(d));
}

/* Keys of all kinds: short and long, with 0 in them, with the same beginning. */
static size_t key_of(size_t number, char *key)
{
    memset(key, 'k', 40);
    size_t size = number % 3 == 0 ? 4 : number % 3 == 1 ? 16 : 40;
    uint32_t bytes = (uint32_t)number;
    memcpy(key + size - sizeof bytes, &bytes, sizeof bytes);
    return size;
}

static struct entry *find(struct dict *d, size_t number)
{
    char key[40];
    size_t size = key_of(number, key);
    return dict_find(d, key, size);
}

static struct entry *new_entry(size_t number)
{
    char key[40];
    size_t size = key_of(number, key);
    struct entry *entry = dict_entry(key, size, NULL);
    if (entry == NULL)
        check_impossible("no memory for an entry");
    return entry;
}

static void insert(struct dict *d, size_t number)
{
    entries[number] = new_entry(number);
    if (!dict_insert(d, entries[number]))
        check_impossible("no memory for an entry");
}

static void take_out(struct dict *d, size_t number)
{
    char key[40];
    size_t size = key_of(number, key);
    struct entry *entry = dict_remove(d, key, size);
    CHECK(entry == entries[number], LOSES, "dict_remove() gave %s instead of %s",
          entry ? "an entry" : "NULL", entries[number] ? "the entry with this key" : "NULL");
    free(entry);
    entries[number] = NULL;
}

static void expect_all(struct dict *d, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        count += entries[i] != NULL;
        struct entry *entry = find(d, i);
        CHECK(entry == entries[i], LOSES, "dict_find() of key %zu gave %s instead of %s", i,
              entry ? "an entry" : "NULL", entries[i] ? "its entry" : "NULL");
    }
    CHECK(dict_count(d) == count, LOSES, "dict_count() is %zu; there are %zu entries",
          dict_count(d), count);
}

static void come_and_go(size_t most, size_t steps)
{
    struct dict d;
    begin(&d, most);
    for (size_t i = 0; i < steps; i++) {
        size_t number = check_below(most);
        bool adds = entries[number] == NULL && check_below(3) > 0;
        check_step("calls %s() for key %zu, with %zu entries in it",
                   adds ? "dict_insert" : "dict_remove", number, dict_count(&d));
        if (adds)
            insert(&d, number);
        else
            take_out(&d, number);
        if (most <= SMALL)
            expect_all(&d, most);
    }
    check_step("looks for all keys");
    expect_all(&d, most);
    end(&d);
}

/* The smallest case that goes wrong is found first. */
static void finds(void)
{
    for (size_t most = 1; most <= SMALL; most += 3)
        for (size_t i = 0; i < CASES / SMALL; i++)
            come_and_go(most, STEPS);
    come_and_go(MANY, 4 * MANY);
}

static void grows_and_shrinks(void)
{
    struct dict d;
    begin(&d, MANY);
    for (int turn = 0; turn < 2; turn++) {
        check_step("calls dict_insert() for %d keys", MANY);
        for (size_t i = 0; i < MANY; i++) {
            insert(&d, i);
            CHECK(i < STEPS || dict_moves(&d) > 0, GROWS,
                  "with %zu entries in it nothing was moved", dict_count(&d));
        }
        expect_all(&d, MANY);
        check_step("calls dict_remove() for all of them");
        for (size_t i = 0; i < MANY; i++)
            take_out(&d, (i * 7919) % MANY);
        expect_all(&d, MANY);
    }
    for (size_t i = 0; i < SMALL; i++)
        insert(&d, i);
    check_step("calls dict_free()");
    end(&d);
    check_step("calls dict_insert() after that");
    insert(&d, 0);
    CHECK(find(&d, 0) == entries[0], LOSES, "it is not found");
    end(&d);
}

static size_t all_told, all_changed; /* by all calls together */

/* One call, and what it has moved: as the dict says, and by the pointers of the entries. */
static void watch_call(struct dict *d, void (*call)(struct dict *, size_t), size_t number,
                       struct entry **before)
{
    size_t moves = dict_moves(d), changed = 0;
    for (size_t i = 0; i < LOOKED_AT; i++)
        before[i] = entries[i] != NULL ? entries[i]->next : NULL;
    call(d, number);
    for (size_t i = 0; i < LOOKED_AT; i++) /* the entry that comes or goes is not moved */
        changed += i != number && entries[i] != NULL && entries[i]->next != before[i];
    size_t told = dict_moves(d) - moves;
    CHECK(told <= A_CALL, MOVES, "with %zu entries this call moved %zu", dict_count(d), told);
    CHECK(changed <= A_CALL, MOVES, "with %zu entries this call changed %zu of them", dict_count(d),
          changed);
    all_told += told;
    all_changed += changed;
}

static void moves(void)
{
    static struct entry *before[LOOKED_AT];
    struct dict d;
    begin(&d, MANY);
    for (size_t i = 0; i < LOOKED_AT; i++) {
        check_step("calls dict_insert() for key %zu", i);
        watch_call(&d, insert, i, before);
    }
    /* In a table without chains no entry changes when it moves. */
    CHECK(all_told >= all_changed, MOVES,
          "dict_moves() is %zu, and entries that were there before were changed %zu times",
          all_told, all_changed);
    CHECK(all_told > LOOKED_AT / 10, GROWS,
          "with %d entries in it %zu have been moved, so it does not grow", (int)LOOKED_AT,
          all_told);
    for (size_t i = 0; i < LOOKED_AT; i++) {
        check_step("calls dict_remove() for key %zu", i);
        watch_call(&d, take_out, i, before);
    }
    for (size_t i = 0; i < MANY; i++) {
        size_t told = dict_moves(&d);
        check_step("calls dict_insert() for key %zu", i);
        insert(&d, i);
        CHECK(dict_moves(&d) - told <= A_CALL, MOVES, "this call moved %zu", dict_moves(&d) - told);
    }
    end(&d);
}

/* While entries have to be moved, each call moves some: also those of clients that only read. */
static void each_call(void)
{
    static const char none[] = "no such key";
    struct dict d;
    begin(&d, MANY);
    size_t told = 0, quiet = 0, number = 0;
    for (; number < MANY; number++) {
        insert(&d, number);
        bool begins = dict_moves(&d) > told && quiet > 0 && number > 1000;
        quiet = dict_moves(&d) > told ? 0 : quiet + 1;
        told = dict_moves(&d);
        if (begins)
            break;
    }
    CHECK(number < MANY, GROWS, "with %d entries in it no call has begun to move them", MANY);
    check_step("with %zu entries, of which few have been moved, calls dict_find()", number);
    dict_find(&d, none, sizeof none);
    CHECK(dict_moves(&d) > told, MOVES, "it moved nothing");
    told = dict_moves(&d);
    check_step("calls dict_remove() with a key that is not there");
    dict_remove(&d, none, sizeof none);
    CHECK(dict_moves(&d) > told, MOVES, "it moved nothing");
    end(&d);
}

/* So many entries more, and less again, many times. */
static void swing(struct dict *d, size_t count, size_t more)
{
    size_t told = dict_moves(d);
    check_step("with %zu entries, calls dict_insert() and dict_remove() for %zu more, %zu times",
               count, more, 8 * count / more);
    for (size_t i = 0; i < 8 * count / more; i++) {
        for (size_t j = 1; j <= more; j++)
            insert(d, MANY - j);
        for (size_t j = 1; j <= more; j++)
            take_out(d, MANY - j);
    }
    size_t moved = dict_moves(d) - told;
    CHECK(moved <= 6 * count + A_CALL, MOVES, "these calls moved %zu", moved);
}

/* A few entries more and less where the table has just grown, or is just about to shrink. */
static void border(void)
{
    struct dict d;
    begin(&d, MANY);
    for (size_t count = 1; count <= 4100; count++) {
        insert(&d, count - 1);
        bool near = (count & (count - 1)) == 0 || (count & (count + 1)) == 0 || count % 100 == 0;
        for (size_t more = 1; more <= MOST_MORE && near && count >= 60; more++)
            swing(&d, count, more);
    }
    end(&d);
}

/* Without memory */

/* Without memory, dict_insert() refuses an entry or has space for it. Later it takes all. */
static void without_memory_for(size_t there)
{
    struct entry *made[SMALL];
    struct dict d;
    begin(&d, SMALL);
    for (size_t i = 0; i < there; i++)
        insert(&d, i);
    for (size_t i = there; i < SMALL; i++)
        made[i] = new_entry(i);
    no_memory_begin();
    for (size_t i = there; i < SMALL; i++) {
        check_step("calls dict_insert() with %zu entries in it, while there is no memory",
                   dict_count(&d));
        entries[i] = dict_insert(&d, made[i]) ? made[i] : NULL;
    }
    no_memory_end();
    check_step("looks for all keys");
    expect_all(&d, SMALL);
    for (size_t i = there; i < SMALL; i++) {
        if (entries[i] != NULL)
            continue;
        check_step("calls dict_insert() for a key that was refused; now there is memory");
        CHECK(dict_insert(&d, made[i]), MEMORY, "it returned false");
        entries[i] = made[i];
    }
    check_step("looks for all keys");
    expect_all(&d, SMALL);
    end(&d);
}

static void without_memory(void)
{
    struct dict d;
    begin(&d, STEPS);
    check_step("calls dict_insert() for %d keys", STEPS);
    for (size_t i = 0; i < STEPS; i++)
        insert(&d, i);
    CHECK(dict_moves(&d) > 0, GROWS, "with %zu entries in it nothing was moved", dict_count(&d));
    end(&d);
    for (size_t there = 0; there < SMALL; there++)
        without_memory_for(there);
}

/* What the module has mapped. These functions come before those of libc, whose malloc() does not
 * call them. */

static struct mapping {
    char *start;
    size_t size;
    size_t held; /* bytes of it that were not given back */
} mappings[MAPPINGS];

static size_t mapped; /* bytes that are held, of all mappings */

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    char *start = (char *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    for (size_t i = 0; start != MAP_FAILED && i < MAPPINGS; i++)
        if (mappings[i].size == 0) {
            mappings[i] = (struct mapping){.start = start, .size = size, .held = size};
            mapped += size;
            break;
        }
    return start;
}

/* A part of a mapping is given back, and no part twice. */
static struct mapping *give_back(void *start, size_t size)
{
    for (struct mapping *one = mappings; one < mappings + MAPPINGS; one++)
        if ((size_t)((char *)start - one->start) < one->size) {
            size_t given = size < one->held ? size : one->held;
            one->held -= given;
            mapped -= given;
            return one;
        }
    return NULL;
}

int munmap(void *start, size_t size)
{
    struct mapping *one = give_back(start, size);
    if (one != NULL && one->held == 0)
        one->size = 0;
    return (int)syscall(SYS_munmap, start, size);
}

int madvise(void *start, size_t size, int advice)
{
    if (advice == MADV_DONTNEED || advice == MADV_FREE)
        give_back(start, size);
    return (int)syscall(SYS_madvise, start, size, advice);
}

static size_t memory(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd + mapped;
}

/* As the dict has no function that only moves, it goes on with each call. */
static void shrinks(void)
{
    struct dict d;
    begin(&d, MANY);
    size_t before = memory();
    for (size_t i = 0; i < MANY; i++)
        insert(&d, i);
    CHECK(dict_moves(&d) > 0, GROWS, "with %d entries in it nothing was moved", MANY);
    check_step("calls dict_remove() for all but %d of %d keys", LEFT, MANY);
    for (size_t i = LEFT; i < MANY; i++)
        take_out(&d, i);
    for (size_t i = 0; i < ROUNDS_TO_SHRINK && memory() > before + LEFT_BYTES; i++) {
        check_step("calls dict_insert() and dict_remove() for one key, %d times", A_ROUND);
        for (size_t j = 0; j < A_ROUND; j++) {
            insert(&d, LEFT);
            take_out(&d, LEFT);
        }
    }
    CHECK(memory() <= before + LEFT_BYTES, SHRINK, "for %d keys it still holds %zu bytes", LEFT,
          memory() - before);
    expect_all(&d, MANY);
    end(&d);
}

static size_t pages_used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_minflt;
}

/* One call, and the memory that it gives back or is the first to use. */
static void weigh_call(struct dict *d, void (*call)(struct dict *, size_t), size_t number,
                       size_t (*held)(void))
{
    size_t bytes = held(), pages = pages_used();
    call(d, number);
    size_t left = held(), more = pages_used() - pages;
    CHECK(bytes <= left + AT_ONCE_BYTES, PIECES, "with %zu entries this call gave back %zu KiB",
          dict_count(d), (bytes - left) >> 10);
    CHECK(more <= AT_ONCE_PAGES, PIECES,
          "with %zu entries this call was the first to use %zu pages", dict_count(d), more);
}

static size_t mapped_bytes(void)
{
    return mapped;
}

static void pieces(void)
{
    struct dict d;
    begin(&d, MOST);
    for (size_t i = 0; i < MOST; i++) {
        check_step("calls dict_insert() for key %zu", i);
        weigh_call(&d, insert, i, memory);
        CHECK(i < FIRST || dict_moves(&d) > 0, GROWS, "with %zu entries in it nothing was moved",
              dict_count(&d));
    }
    /* After many calls of free(), mallinfo() takes long. */
    for (size_t i = 0; i < MOST; i++) {
        check_step("calls dict_remove() for key %zu", i);
        weigh_call(&d, take_out, i, mapped_bytes);
    }
    end(&d);
}

/* SCAN */

static unsigned char *seen; /* by the number of the key */
static size_t last_moves;   /* of the last case */

static void visit(void *context, struct entry *entry)
{
    uint32_t number;
    memcpy(&number, entry->key + entry->size - sizeof number, sizeof number);
    CHECK(context == &seen, SCAN, "`visit` got another context");
    CHECK(number < MANY && entries[number] == entry, SCAN, "it visited what is no entry of it");
    seen[number] = 1;
}

/* The first `stay` keys are there all the time. After `calls` calls others come, or go. */
static void scan_while(size_t stay, size_t others, bool come, size_t calls)
{
    struct dict d;
    begin(&d, MANY);
    memset(seen, 0, MANY);
    for (size_t i = 0; i < stay + (come ? 0 : others); i++)
        insert(&d, i);
    size_t cursor = 0, count = 0;
    do {
        if (count == calls) {
            check_step("calls %s() %zu times", come ? "dict_insert" : "dict_remove", others);
            for (size_t i = 0; i < others; i++)
                come ? insert(&d, stay + i) : take_out(&d, stay + i);
        }
        check_step("calls dict_scan() with cursor %zu, call %zu", cursor, count + 1);
        cursor = dict_scan(&d, cursor, visit, &seen);
        CHECK(++count <= 40 * (stay + others) + 100, SCAN, "it does not come to an end");
    } while (cursor != 0);
    for (size_t i = 0; i < stay; i++)
        CHECK(seen[i], SCAN, "key %zu of %zu, which stayed, was not visited", i, stay);
    last_moves = dict_moves(&d);
    end(&d);
}

static void scans(void)
{
    seen = check_memory(MANY);
    scan_while(0, 0, true, 0);
    for (size_t stay = 1; stay <= 200; stay = 2 * stay + 1)
        for (size_t calls = 0; calls <= 2 * stay; calls += 1 + stay / 8) {
            scan_while(stay, 4 * stay, true, calls);
            scan_while(stay, 40 * stay, false, calls);
            scan_while(stay, stay / 2 + 1, true, calls);
        }
    scan_while(2000, 20000, true, 300);
    CHECK(last_moves > 0, GROWS, "with thousands of entries in it nothing was moved");
    scan_while(2000, 20000, false, 300);
    free(seen);
}

static void tell(const char *call, size_t key)
{
    if (key % TELL_AGAIN == 0)
        check_step("calls dict_%s(), key %zu", call, key);
}

/* Steps and CPU seconds for so many keys: put in, looked for, taken out. */
static void cost(void)
{
    size_t count = (size_t)check_number("keys");
    struct dict d;
    begin(&d, count);
    double before = check_cpu_seconds(), steps = check_steps();
    for (size_t i = 0; i < count; i++) {
        tell("insert", i);
        insert(&d, i);
    }
    for (size_t i = 0; i < count; i++) {
        tell("find", i);
        CHECK(find(&d, i) == entries[i], LOSES, "dict_find() did not find key %zu", i);
    }
    for (size_t i = 0; i < count; i++) {
        tell("remove", i);
        take_out(&d, i);
    }
    check_value("seconds", check_cpu_seconds() - before);
    if (steps >= 0)
        check_value("steps", check_steps() - steps);
    end(&d);
}

const struct check checks[] = {
    {"finds", finds},
    {"grows_and_shrinks", grows_and_shrinks},
    {"moves", moves},
    {"border", border},
    {"each_call", each_call},
    {"shrinks", shrinks},
    {"pieces", pieces},
    {"scans", scans},
    {"cost", cost},
    {"without_memory", without_memory},
    {0},
};

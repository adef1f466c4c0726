/* The hash table beside an array: nothing is lost while it grows and shrinks, and each call moves
 * little. It gets its memory from this program, which counts it and may refuse it.
 * links: dict.c */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"
#include "dict.h"

#define LOSES  "dict-loses"
#define GROWS  "dict-grows"
#define MOVES  "dict-moves"
#define SHRINK "dict-shrinks"
#define PIECES "dict-pieces"
#define MEMORY "dict-memory"

enum {
    SMALL = 40, /* keys: of the small cases, which are tried often */
    CASES = 100,
    STEPS = 200,
    MANY = 30000,
    MOST = 100000,
    LOOKED_AT = 5000, /* keys whose pointers are compared after each call */
    A_CALL = 64,      /* moves of one call: some buckets, with a few entries each */
    MOST_MORE = 3,    /* entries, of a count that goes up and down again */
    LEFT = 10,
    LEFT_BYTES = 16 << 10, /* of tables, for so few */
    CALLS_TO_SHRINK = 20000,
    AT_ONCE_BYTES = 256 << 10, /* that one call may give back: a quarter of the largest table */
    AT_ONCE_PAGES = 64         /* that one call may be the first to use */
};

/* The tables, in the place of table.c */

static size_t held;  /* bytes of tables that were not given back */
static bool refuses; /* there is no memory */

static void give_back(struct table *table, size_t end)
{
    held -= (end - table->trimmed) * sizeof *table->buckets;
    table->trimmed = end;
}

bool table_new(struct table *table, size_t size)
{
    *table = (struct table){0};
    struct entry **buckets = refuses ? NULL : calloc(size, sizeof *buckets);
    if (buckets == NULL)
        return false;
    *table = (struct table){.buckets = buckets, .size = size};
    held += size * sizeof *buckets;
    return true;
}

void table_trim(struct table *table, size_t end)
{
    if (end > table->trimmed)
        give_back(table, end);
}

void table_free(struct table *table)
{
    give_back(table, table->size);
    free(table->buckets);
    *table = (struct table){0};
}

/* The dict, and the array */

static struct dict d;
static struct entry *entries[MOST]; /* by the number of their key; NULL: not in the dict */
static size_t freed;

static void begin(void)
{
    check_case();
    memset(entries, 0, sizeof entries);
    dict_init(&d);
}

static void count_freed(struct entry *entry)
{
    freed++;
    free(entry);
}

static void end(void)
{
    size_t count = dict_count(&d);
    freed = 0;
    check_step("calls dict_free()");
    dict_free(&d, count_freed);
    CHECK(freed == count, LOSES, "dict_free() freed %zu of %zu entries", freed, count);
    CHECK(dict_count(&d) == 0, LOSES, "after dict_free() there are %zu entries", dict_count(&d));
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

enum operation { INSERT, FIND, REMOVE };

/* A call for one key, in the dict and in the array. */
static void call(enum operation operation, size_t number)
{
    static const char *const names[] = {"insert", "find", "remove"};
    char key[40];
    size_t size = key_of(number, key);
    struct entry *before = entries[number], *entry;
    check_step("calls dict_%s() for key %zu, with %zu entries in it", names[operation], number,
               dict_count(&d));
    if (operation == INSERT) {
        entry = dict_entry(key, size, NULL);
        if (entry == NULL)
            check_impossible("no memory for an entry");
        entries[number] = dict_insert(&d, entry) ? entry : NULL;
        CHECK(entries[number] || refuses, MEMORY, "it returned false, but there is memory");
        if (entries[number] == NULL)
            free(entry);
        return;
    }
    entry = operation == FIND ? dict_find(&d, key, size) : dict_remove(&d, key, size);
    CHECK(entry == before, LOSES, "it returned %s instead of %s", entry ? "an entry" : "NULL",
          before ? "the entry with this key" : "NULL");
    if (operation == REMOVE) {
        free(entry);
        entries[number] = NULL;
    }
}

static void find_all(size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < most; i++) {
        count += entries[i] != NULL;
        call(FIND, i);
    }
    CHECK(dict_count(&d) == count, LOSES, "dict_count() is %zu; there are %zu entries",
          dict_count(&d), count);
}

static void walk(size_t most, size_t steps)
{
    begin();
    for (size_t i = 0; i < steps; i++) {
        size_t number = check_below(most);
        bool adds = entries[number] == NULL && check_below(3) > 0;
        call(adds ? INSERT : REMOVE, number);
        if (most <= SMALL)
            find_all(most);
    }
    find_all(most);
    end();
}

static void come(size_t most, void (*one)(enum operation, size_t))
{
    for (size_t i = 0; i < most; i++) {
        one(INSERT, i);
        CHECK(i < STEPS || dict_moves(&d) > 0, GROWS, "with %zu entries in it nothing was moved",
              dict_count(&d));
    }
}

/* All of them go, in another order. */
static void leave(size_t most, void (*one)(enum operation, size_t))
{
    for (size_t i = 0; i < most; i++)
        one(REMOVE, (i * 7919) % most);
}

/* The smallest case that goes wrong is found first. */
static void finds(void)
{
    for (size_t i = 0; i < CASES; i++)
        walk(1 + i * SMALL / CASES, STEPS);
    walk(MANY, 4 * MANY);
    begin();
    for (int turn = 0; turn < 2; turn++) {
        come(MANY, call);
        leave(MANY, call);
    }
    for (size_t i = 0; i < SMALL; i++)
        call(INSERT, i);
    end();
    memset(entries, 0, sizeof entries);
    call(INSERT, 0); /* it can be used again */
    call(FIND, 0);
    end();
}

/* What a call moves */

static size_t all_told, all_changed; /* by all calls together */

/* One call, and what it has moved: as the dict says, and by the pointers of the entries. */
static void watch_call(enum operation operation, size_t number)
{
    static struct entry *before[LOOKED_AT];
    size_t moves = dict_moves(&d), changed = 0;
    for (size_t i = 0; i < LOOKED_AT; i++)
        before[i] = entries[i] != NULL ? entries[i]->next : NULL;
    call(operation, number);
    for (size_t i = 0; i < LOOKED_AT; i++) /* the entry that comes or goes is not moved */
        changed += i != number && entries[i] != NULL && entries[i]->next != before[i];
    size_t told = dict_moves(&d) - moves;
    CHECK(told <= A_CALL, MOVES, "this call moved %zu", told);
    CHECK(changed <= A_CALL, MOVES, "this call changed %zu entries", changed);
    all_told += told;
    all_changed += changed;
}

/* While entries have to be moved, each call moves some: also those of clients that only read. */
static void moves_some(enum operation operation)
{
    size_t told = dict_moves(&d);
    call(operation, MOST - 1);
    CHECK(dict_moves(&d) > told, MOVES, "it moved nothing, and few entries have been moved");
}

static void moves(void)
{
    begin();
    come(LOOKED_AT, watch_call);
    /* In a table without chains no entry changes when it moves. */
    CHECK(all_told >= all_changed, MOVES,
          "dict_moves() is %zu, and entries that were there before were changed %zu times",
          all_told, all_changed);
    CHECK(all_told > LOOKED_AT / 10, GROWS,
          "with up to %d entries in it %zu have been moved, so it does not grow", (int)LOOKED_AT,
          all_told);
    leave(LOOKED_AT, watch_call);
    end();
    begin();
    size_t told = 0, number = 0;
    for (bool quiet = false, begins = false; number < MANY && !begins; number++) {
        call(INSERT, number);
        size_t moved = dict_moves(&d) - told;
        CHECK(moved <= A_CALL, MOVES, "this call moved %zu", moved);
        begins = moved > 0 && quiet && number > 1000;
        quiet = moved == 0;
        told += moved;
    }
    CHECK(number < MANY, GROWS, "with %d entries in it no call has begun to move them", MANY);
    moves_some(FIND);
    moves_some(REMOVE);
    end();
}

/* So many entries more, and less again, many times. */
static void swing(size_t count, size_t more)
{
    size_t told = dict_moves(&d), turns = 8 * count / more;
    for (size_t i = 0; i < turns; i++) {
        for (size_t j = 1; j <= more; j++)
            call(INSERT, MANY - j);
        for (size_t j = 1; j <= more; j++)
            call(REMOVE, MANY - j);
    }
    size_t moved = dict_moves(&d) - told;
    CHECK(moved <= 6 * count + A_CALL, MOVES,
          "with %zu entries, and up to %zu more and less again, %zu times, %zu were moved", count,
          more, turns, moved);
}

/* A few entries more and less where the table has just grown, or is just about to shrink. */
static void border(void)
{
    begin();
    for (size_t count = 1; count <= 4100; count++) {
        call(INSERT, count - 1);
        bool near = (count & (count - 1)) == 0 || (count & (count + 1)) == 0 || count % 500 == 0;
        for (size_t more = 1; more <= MOST_MORE && near && count >= 60; more++)
            swing(count, more);
    }
    end();
}

/* Memory */

/* Without memory, dict_insert() refuses an entry or has space for it. Later it takes all. */
static void without_memory(void)
{
    begin();
    come(2 * STEPS, call); /* a table that never grows needs no memory */
    end();
    for (size_t there = 0; there < SMALL; there++) {
        begin();
        for (size_t i = 0; i < there; i++)
            call(INSERT, i);
        check_step("lets there be no memory for tables");
        refuses = true;
        for (size_t i = there; i < SMALL; i++)
            call(INSERT, i);
        refuses = false;
        check_step("lets there be memory again");
        find_all(SMALL);
        for (size_t i = there; i < SMALL; i++)
            if (entries[i] == NULL)
                call(INSERT, i);
        find_all(SMALL);
        end();
    }
}

/* As the dict has no function that only moves, it goes on with each call. */
static void shrinks(void)
{
    begin();
    come(MANY, call);
    for (size_t i = LEFT; i < MANY; i++)
        call(REMOVE, i);
    for (size_t i = 0; i < CALLS_TO_SHRINK && held > LEFT_BYTES; i++)
        call(FIND, LEFT);
    CHECK(held <= LEFT_BYTES, SHRINK, "for %d keys its tables still have %zu bytes", LEFT, held);
    find_all(MANY);
    end();
}

static size_t pages_used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_minflt;
}

/* One call, and the memory that it gives back or is the first to use. */
static void weigh_call(enum operation operation, size_t number)
{
    size_t bytes = held, pages = pages_used();
    call(operation, number);
    size_t more = pages_used() - pages;
    CHECK(bytes <= held + AT_ONCE_BYTES, PIECES, "with %zu entries this call gave back %zu KiB",
          dict_count(&d), (bytes - held) >> 10);
    CHECK(more <= AT_ONCE_PAGES, PIECES,
          "with %zu entries this call was the first to use %zu pages", dict_count(&d), more);
}

static void pieces(void)
{
    begin();
    come(MOST, weigh_call);
    leave(MOST, weigh_call);
    end();
}

const struct check checks[] = {
    {"finds", finds},
    {"moves", moves},
    {"border", border},
    {"shrinks", shrinks},
    {"pieces", pieces},
    {"without_memory", without_memory},
    {0},
};

/* A hash table that grows and shrinks in steps.
 *
 * A table with as many entries as buckets needs a larger one. Moving all entries at once would keep
 * every client waiting. So there are two tables meanwhile, and each call moves the entries of a few
 * buckets from one to the other.
 *
 *     from    | moved | moved | moved | bucket | bucket | ...     the table before: only shrinks
 *                                     ^ next
 *     main    | bucket | bucket | bucket | bucket | ...           new entries go here
 *
 * An entry is in one of the two. The table is empty at first, and owns no memory then. */
#ifndef DICT_H
#define DICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/siphash.h"
#include "redis/table.h"

/* A key, and what its owner keeps for it. */
struct entry {
    struct entry *next; /* in its bucket; only dict.c uses this and the hash */
    void *value;        /* for the owner; dict.c does not look at it */
    uint32_t hash;
    uint32_t size;
    uint8_t key[];
};

struct dict {
    struct table main;
    struct table from;       /* size 0: nothing is moving */
    size_t next;             /* in `from`, buckets before this one are empty */
    size_t count;            /* entries of both */
    size_t moves;            /* see dict_moves */
    struct siphash_key seed; /* secret, and another one for each dict */
};

/* How many buckets with entries one call moves at most, and how many it looks at. With one it would
 * just be done with a table when the next one is full. */
enum { DICT_STEP_BUCKETS = 4, DICT_STEP_LOOKS = 16 };

/* A table of this size is not made smaller. */
enum { DICT_MIN_BUCKETS = 16 };

/* Makes an entry for a copy of the key. The caller owns it, and frees it with free(). NULL: no
 * memory. */
struct entry *dict_entry(const void *key, size_t size, void *value);

/* Makes such an entry, and adds it: the dict owns it. NULL: no memory, and nothing has changed. */
struct entry *dict_add(struct dict *d, const void *key, size_t size, void *value);

void dict_init(struct dict *d);

/* Calls `free_entry` for every entry, and frees the tables. The dict is empty, and can be used
 * again. */
void dict_free(struct dict *d, void (*free_entry)(struct entry *entry));

/* Does a small part of that: the entries of one bucket. False: the dict is empty already. Until
 * then it must not be used otherwise. */
bool dict_free_some(struct dict *d, void (*free_entry)(struct entry *entry));

/* The entry with this key, or NULL. */
struct entry *dict_find(struct dict *d, const void *key, size_t size);

/* Adds an entry, which belongs to the dict from then on. No other entry may have its key. False: no
 * memory, and nothing has changed. */
bool dict_insert(struct dict *d, struct entry *entry);

/* Takes out the entry with this key. The caller owns it. NULL: there is none. */
struct entry *dict_remove(struct dict *d, const void *key, size_t size);

/* How many entries there are. */
size_t dict_count(const struct dict *d);

/* How much has been moved since dict_init: entries, and buckets that were empty. For tests and
 * statistics: the difference before and after a call is the cost of that call. */
size_t dict_moves(const struct dict *d);

/* Visits the entries of a few buckets, and returns the cursor for the next call. 0 begins, and 0 is
 * the end. Entries that are there from the first call to the last are visited, some perhaps twice,
 * though the table may grow and shrink between two calls. `visit` must not use the dict. */
size_t dict_scan(const struct dict *d, size_t cursor,
                 void (*visit)(void *context, struct entry *entry), void *context);

#endif

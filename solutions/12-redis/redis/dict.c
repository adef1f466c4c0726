#include "redis/dict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry *dict_entry(const void *key, size_t size, void *value)
{
    struct entry *entry = malloc(sizeof *entry + size);
    if (entry == NULL)
        return NULL;
    *entry = (struct entry){.value = value, .size = (uint32_t)size};
    memcpy(entry->key, key, size);
    return entry;
}

void dict_init(struct dict *d)
{
    *d = (struct dict){0};
    if (getrandom(&d->seed, sizeof d->seed, 0) != (ssize_t)sizeof d->seed)
        d->seed.low = (uintptr_t)d; /* a kernel before 3.17: not secret, but the dict works */
}

static uint32_t hash_of(const struct dict *d, const void *key, size_t size)
{
    return (uint32_t)siphash(&d->seed, key, size);
}

/* The bucket for a hash, in a table that has buckets. */
static struct entry **bucket_of(const struct table *table, uint32_t hash)
{
    return &table->buckets[hash & (table->size - 1)];
}

/* Looks for an entry in one table. Returns the pointer that leads to it: that of the bucket, or of
 * the entry before. NULL: it is not there. */
static struct entry **find_in(const struct table *table, uint32_t hash, const void *key,
                              size_t size)
{
    if (table->size == 0)
        return NULL;
    for (struct entry **at = bucket_of(table, hash); *at != NULL; at = &(*at)->next)
        if ((*at)->hash == hash && (*at)->size == size && memcmp((*at)->key, key, size) == 0)
            return at;
    return NULL;
}

static void put_in(struct table *table, struct entry *entry)
{
    struct entry **bucket = bucket_of(table, entry->hash);
    entry->next = *bucket;
    *bucket = entry;
}

// BEGIN dict
/* Moves the next bucket of `from`. False: it is empty. */
static bool move_bucket(struct dict *d)
{
    struct entry *entry = d->from.buckets[d->next];
    d->from.buckets[d->next++] = NULL;
    if (entry == NULL) {
        d->moves++; /* looking at it costs time, too */
        return false;
    }
    while (entry != NULL) {
        struct entry *rest = entry->next;
        put_in(&d->main, entry);
        d->moves++;
        entry = rest;
    }
    return true;
}

/* Begins to move to a table of another size. False: no memory; nothing has changed. */
static bool resize(struct dict *d, size_t size)
{
    struct table table;
    if (!table_new(&table, size))
        return false;
    d->from = d->main;
    d->main = table;
    d->next = 0;
    return true;
}

/* Begins to grow, if the table is full. False: there is no table at all. */
static bool make_space(struct dict *d)
{
    if (d->main.size == 0)
        return resize(d, DICT_MIN_BUCKETS);
    /* Without memory for a larger table the chains get longer, and nothing is lost. */
    if (d->from.size == 0 && d->count >= d->main.size)
        resize(d, 2 * d->main.size);
    return true;
}

/* Begins to shrink, if less than an eighth of the table is used. At least a quarter of the new one
 * is used, and at most a half: an entry more or less does not move everything again. */
static void shrink(struct dict *d)
{
    size_t size = d->main.size;
    if (size <= DICT_MIN_BUCKETS || d->count >= size / 8)
        return;
    while (size > DICT_MIN_BUCKETS && d->count < size / 4)
        size /= 2;
    resize(d, size);
}

/* Moves a few buckets, if any are left. Every call does this first. */
static void step(struct dict *d)
{
    int moved = 0;
    for (int i = 0; i < DICT_STEP_LOOKS && moved < DICT_STEP_BUCKETS; i++) {
        if (d->next == d->from.size)
            break;
        moved += move_bucket(d);
    }
    table_trim(&d->from, d->next);
    if (d->next < d->from.size)
        return;
    table_free(&d->from);
    d->next = 0;
    shrink(d);
}

/* Looks for an entry in both tables, as find_in() does in one. */
static struct entry **find(const struct dict *d, const void *key, size_t size)
{
    uint32_t hash = hash_of(d, key, size);
    struct entry **at = find_in(&d->main, hash, key, size);
    return at != NULL ? at : find_in(&d->from, hash, key, size);
}

struct entry *dict_find(struct dict *d, const void *key, size_t size)
{
    step(d);
    struct entry **at = find(d, key, size);
    return at != NULL ? *at : NULL;
}

bool dict_insert(struct dict *d, struct entry *entry)
{
    step(d);
    if (!make_space(d))
        return false;
    entry->hash = hash_of(d, entry->key, entry->size);
    put_in(&d->main, entry);
    d->count++;
    return true;
}

struct entry *dict_remove(struct dict *d, const void *key, size_t size)
{
    step(d);
    struct entry **at = find(d, key, size);
    if (at == NULL)
        return NULL;
    struct entry *entry = *at;
    *at = entry->next;
    d->count--;
    return entry;
}
// END dict

size_t dict_count(const struct dict *d)
{
    return d->count;
}

size_t dict_moves(const struct dict *d)
{
    return d->moves;
}

static void visit_bucket(const struct table *table, size_t index,
                         void (*visit)(void *context, struct entry *entry), void *context)
{
    struct entry *next;
    for (struct entry *entry = table->buckets[index & (table->size - 1)]; entry; entry = next) {
        next = entry->next;
        visit(context, entry);
    }
}

/* The index after this one in a table with that mask, counted from the highest bit down: 0, 4, 2,
 * 6, 1, 5, 3, 7 with eight buckets. 0 follows the last one. */
static size_t next_index(size_t index, size_t mask)
{
    size_t bit = mask ^ mask >> 1; /* the highest one of the mask */
    while (index & bit) {
        index ^= bit;
        bit >>= 1;
    }
    return index | bit;
}

/* Bucket i of a small table has the entries of all buckets of a larger one whose index ends in the
 * bits of i. Counted from the highest bit, these follow each other. So a cursor means the same
 * entries whatever the size of the table is by now. (This is the SCAN of Redis, by Pieter
 * Noordhuis; see dictScan() there.) */
size_t dict_scan(const struct dict *d, size_t cursor,
                 void (*visit)(void *context, struct entry *entry), void *context)
{
    if (d->main.size == 0)
        return 0;
    bool grows = d->main.size > d->from.size;
    const struct table *large = grows ? &d->main : &d->from;
    const struct table *small = grows ? &d->from : &d->main;
    size_t mask = large->size - 1;
    size_t index = cursor & mask;
    if (small->size == 0) {
        visit_bucket(large, index, visit, context);
        return next_index(index, mask);
    }
    size_t extra_bits = mask ^ (small->size - 1);
    visit_bucket(small, index, visit, context);
    do {
        visit_bucket(large, index, visit, context);
        index = next_index(index, mask);
    } while (index & extra_bits);
    return index;
}

struct entry *dict_add(struct dict *d, const void *key, size_t size, void *value)
{
    struct entry *entry = dict_entry(key, size, value);
    if (entry != NULL && dict_insert(d, entry))
        return entry;
    free(entry);
    return NULL;
}

static void free_chain(struct entry *entry, void (*free_entry)(struct entry *entry))
{
    while (entry != NULL) {
        struct entry *rest = entry->next;
        free_entry(entry);
        entry = rest;
    }
}

bool dict_free_some(struct dict *d, void (*free_entry)(struct entry *entry))
{
    if (d->next == d->from.size) { /* the other table comes next */
        table_free(&d->from);
        d->from = d->main;
        d->main = (struct table){0};
        d->next = 0;
    }
    struct entry *chain = NULL;
    for (int i = 0; i < DICT_STEP_LOOKS && d->next < d->from.size && chain == NULL; i++)
        chain = d->from.buckets[d->next++];
    free_chain(chain, free_entry);
    table_trim(&d->from, d->next);
    d->count = 0;
    return d->from.size > 0;
}

void dict_free(struct dict *d, void (*free_entry)(struct entry *entry))
{
    while (dict_free_some(d, free_entry))
        continue;
}

/* A database: keys, and the value of each.
 *
 * A key is an entry of a dict, and its `value` is a struct value. Keys that have ended are removed
 * when they are used, and by timers: see expiry.h. Whatever changes a key tells the clients that
 * watch it: see watch.h. The functions here do so themselves. */
#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/timers.h"
#include "redis/dict.h"
#include "redis/value.h"
#include "redis/watch.h"
#include "wire/reader.h"

struct db {
    struct dict keys;        /* owned */
    struct relation watched; /* owned; its context is this struct */
    struct timers *timers;   /* borrowed */
    size_t expiries;         /* keys that will end: only expiry.c counts them */
    uint32_t clears;         /* how many times all keys were removed: see expiry.c and watch.c */
};

void db_init(struct db *db, struct timers *timers);

/* Removes all keys. The memory of many keys is freed later, see garbage.h. */
void db_clear(struct db *db);

/* Frees everything. No client may watch a key any more. */
void db_free(struct db *db);

/* The key with this name. NULL: there is none, or it has ended. */
struct entry *db_find(struct db *db, struct bytes name);

/* The value of that key, or NULL. */
struct value *db_value(struct db *db, struct bytes name);

/* Gives a key this value, which belongs to the database from then on. A key that has a value
 * already loses it, and stays for ever from now on. Returns the key. NULL: no memory; the value is
 * freed. */
struct entry *db_put(struct db *db, struct bytes name, struct value *value);

/* Removes a key. False: there is none with this name. */
bool db_remove(struct db *db, struct bytes name);
void db_remove_key(struct db *db, struct entry *key);

/* Gives a key another value. The key ends when it would have ended before. */
void db_replace(struct db *db, struct entry *key, struct value *value);

/* To be called when the value of a key was changed in its place, or its time to live. */
void db_changed(struct db *db, const struct entry *key);

/* Gives the value of a key, and the time when it ends, to the name `to`, and removes the key. The
 * two names differ. False: no memory; nothing has changed. */
bool db_rename(struct db *db, struct entry *key, struct bytes to);

/* The name of a key. */
struct bytes db_name(const struct entry *key);

#endif

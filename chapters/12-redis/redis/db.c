#include "redis/db.h"

#include <stdlib.h>

#include "redis/expiry.h"
#include "redis/garbage.h"

static void free_key(struct entry *key)
{
    value_free(key->value);
    free(key);
}

void db_init(struct db *db, struct timers *timers)
{
    *db = (struct db){.timers = timers};
    dict_init(&db->keys);
    relation_init(&db->watched, db);
}

/* Frees some of the keys that were removed together, or the dict that they were in. */
static bool free_some(void *thing)
{
    struct dict *removed = thing;
    if (dict_free_some(removed, free_key))
        return true;
    free(removed);
    return false;
}

void db_clear(struct db *db)
{
    struct dict *removed = malloc(sizeof *removed);
    if (removed != NULL) {
        *removed = db->keys;
        dict_init(&db->keys);
        garbage_add(removed, free_some);
    } else {
        dict_free(&db->keys, free_key);
    }
    db->clears++;
    db->expiries = 0;
}

void db_free(struct db *db)
{
    dict_free(&db->keys, free_key);
    relation_free(&db->watched);
}

struct bytes db_name(const struct entry *key)
{
    return (struct bytes){.data = key->key, .size = key->size};
}

void db_changed(struct db *db, const struct entry *key)
{
    watches_touch(db, db_name(key));
}

void db_remove_key(struct db *db, struct entry *key)
{
    db_changed(db, key);
    free_key(dict_remove(&db->keys, key->key, key->size));
}

struct entry *db_find(struct db *db, struct bytes name)
{
    struct entry *key = dict_find(&db->keys, name.data, name.size);
    if (key == NULL || !expiry_is_over(key->value))
        return key;
    db_remove_key(db, key);
    return NULL;
}

struct value *db_value(struct db *db, struct bytes name)
{
    struct entry *key = db_find(db, name);
    return key != NULL ? key->value : NULL;
}

struct entry *db_put(struct db *db, struct bytes name, struct value *value)
{
    watches_touch(db, name);
    struct entry *key = dict_find(&db->keys, name.data, name.size);
    if (key != NULL) {
        value_free(key->value);
        key->value = value;
        return key;
    }
    key = dict_add(&db->keys, name.data, name.size, value);
    if (key == NULL)
        value_free(value);
    return key;
}

bool db_remove(struct db *db, struct bytes name)
{
    struct entry *key = db_find(db, name);
    if (key == NULL)
        return false;
    db_remove_key(db, key);
    return true;
}

void db_replace(struct db *db, struct entry *key, struct value *value)
{
    db_changed(db, key);
    struct value *old = key->value;
    struct expiry *expiry = old->expiry;
    old->expiry = NULL;
    value_free(old);
    key->value = value;
    expiry_attach(expiry, key);
}

bool db_rename(struct db *db, struct entry *key, struct bytes to)
{
    struct value *value = key->value;
    struct entry *renamed = dict_find(&db->keys, to.data, to.size);
    if (renamed != NULL) {
        value_free(renamed->value);
        renamed->value = value;
    } else {
        renamed = dict_add(&db->keys, to.data, to.size, value);
        if (renamed == NULL)
            return false;
    }
    expiry_attach(value->expiry, renamed);
    db_changed(db, key);
    db_changed(db, renamed);
    free(dict_remove(&db->keys, key->key, key->size));
    return true;
}

#include "redis/db.h"

#include <stdlib.h>

#include "redis/expiry.h"

static void free_key(struct entry *key)
{
    value_free(key->value);
    free(key);
}

void db_init(struct db *db, struct timers *timers)
{
    *db = (struct db){.timers = timers};
    dict_init(&db->keys);
    watched_keys_init(&db->watched);
}

/* Called for each key that is about to be removed with all others. */
static void touch(void *context, struct entry *key)
{
    db_changed(context, key);
}

void db_clear(struct db *db)
{
    size_t cursor = 0;
    if (watched_keys_count(&db->watched) > 0) {
        do
            cursor = dict_scan(&db->keys, cursor, touch, db);
        while (cursor != 0);
    }
    dict_free(&db->keys, free_key);
}

void db_free(struct db *db)
{
    db_clear(db);
    watched_keys_free(&db->watched);
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
    key = dict_entry(name.data, name.size, value);
    if (key != NULL && dict_insert(&db->keys, key))
        return key;
    free(key);
    value_free(value);
    return NULL;
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
        renamed = dict_entry(to.data, to.size, value);
        if (renamed == NULL || !dict_insert(&db->keys, renamed)) {
            free(renamed);
            return false;
        }
    }
    expiry_attach(value->expiry, renamed);
    db_changed(db, key);
    db_changed(db, renamed);
    free(dict_remove(&db->keys, key->key, key->size));
    return true;
}

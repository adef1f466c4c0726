#include "redis/watch.h"

#include <stdlib.h>

#include "redis/db.h"

void watched_keys_init(struct watched_keys *keys)
{
    dict_init(&keys->by_name);
    dict_init(&keys->by_pair);
}

void watched_keys_free(struct watched_keys *keys)
{
    dict_free(&keys->by_name, NULL);
    dict_free(&keys->by_pair, NULL);
}

size_t watched_keys_count(const struct watched_keys *keys)
{
    return dict_count(&keys->by_name);
}

static struct watched_key *find_key(struct db *db, struct bytes name)
{
    struct entry *entry = dict_find(&db->watched.by_name, name.data, name.size);
    return entry != NULL ? entry->value : NULL;
}

/* The watched key with this name, which is created if it is not there. NULL: no memory. */
static struct watched_key *get_key(struct db *db, struct bytes name)
{
    struct watched_key *key = find_key(db, name);
    if (key != NULL)
        return key;
    key = malloc(sizeof *key);
    struct entry *entry = dict_entry(name.data, name.size, key);
    if (key == NULL || entry == NULL || !dict_insert(&db->watched.by_name, entry)) {
        free(entry);
        free(key);
        return NULL;
    }
    *key = (struct watched_key){.db = db, .entry = entry};
    LIST_INIT(&key->all);
    return key;
}

/* Frees a watched key, if nobody watches it. */
static void leave_key(struct watched_key *key)
{
    if (!LIST_EMPTY(&key->all))
        return;
    struct entry *entry = key->entry;
    free(dict_remove(&key->db->watched.by_name, entry->key, entry->size));
    free(key);
}

/* The key of a watch in `by_pair`. */
struct pair {
    const struct watches *owner;
    const struct watched_key *key;
};

/* The watch of a client on a key. NULL: it does not watch it. */
static struct key_watch *find(const struct watches *w, const struct watched_key *key)
{
    struct pair pair = {.owner = w, .key = key};
    struct entry *entry = dict_find(&key->db->watched.by_pair, &pair, sizeof pair);
    return entry != NULL ? entry->value : NULL;
}

/* How much memory a watch takes, with the name of its key. */
static uint32_t bytes_of(const struct watched_key *key)
{
    size_t entries = 2 * sizeof(struct entry) + key->entry->size + sizeof(struct pair);
    return (uint32_t)(sizeof(struct key_watch) + sizeof *key + entries);
}

// BEGIN watches
/* Makes a watch that is not there yet. False: no memory, or too many bytes. */
static bool add(struct watches *w, struct watched_key *key)
{
    uint32_t bytes = bytes_of(key);
    if (bytes > WATCHES_MAX_BYTES - w->bytes)
        return false;
    struct pair pair = {.owner = w, .key = key};
    struct key_watch *watch = malloc(sizeof *watch);
    struct entry *entry = dict_entry(&pair, sizeof pair, watch);
    if (watch == NULL || entry == NULL || !dict_insert(&key->db->watched.by_pair, entry)) {
        free(entry);
        free(watch);
        return false;
    }
    *watch = (struct key_watch){.key = key, .owner = w};
    LIST_INSERT_HEAD(&key->all, watch, of_key);
    LIST_INSERT_HEAD(&w->all, watch, of_owner);
    w->bytes += bytes;
    return true;
}

bool watches_add(struct watches *w, struct db *db, struct bytes name)
{
    struct watched_key *key = get_key(db, name);
    if (key == NULL)
        return false;
    if (find(w, key) != NULL || add(w, key))
        return true;
    leave_key(key);
    return false;
}

/* Takes a watch out of both lists, and frees it. */
static void remove_one(struct key_watch *watch)
{
    struct watches *w = watch->owner;
    struct watched_key *key = watch->key;
    struct pair pair = {.owner = w, .key = key};
    free(dict_remove(&key->db->watched.by_pair, &pair, sizeof pair));
    LIST_REMOVE(watch, of_key);
    LIST_REMOVE(watch, of_owner);
    w->bytes -= bytes_of(key);
    free(watch);
}

void watches_clear(struct watches *w)
{
    struct key_watch *watch;
    while ((watch = LIST_FIRST(&w->all)) != NULL) {
        struct watched_key *key = watch->key;
        remove_one(watch);
        leave_key(key);
    }
    w->changed = false;
}

bool watches_changed(struct watches *w)
{
    struct key_watch *watch = LIST_FIRST(&w->all);
    while (watch != NULL && !w->changed) {
        /* If the time of the key is over, it is removed here. That is a change: it sets the mark,
         * and frees the watch. */
        struct key_watch *next = LIST_NEXT(watch, of_owner);
        const struct entry *entry = watch->key->entry;
        db_find(watch->key->db, (struct bytes){.data = entry->key, .size = entry->size});
        watch = next;
    }
    return w->changed;
}

void watches_touch(struct db *db, struct bytes name)
{
    if (watched_keys_count(&db->watched) == 0)
        return; /* as nearly always */
    struct watched_key *key = find_key(db, name);
    if (key == NULL)
        return;
    struct key_watch *watch;
    while ((watch = LIST_FIRST(&key->all)) != NULL) {
        watch->owner->changed = true;
        remove_one(watch);
    }
    leave_key(key);
}
// END watches

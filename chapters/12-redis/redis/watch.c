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

/* TODO 7: Remember who watches which key, and mark all these clients when the key changes.
 * Graded by test_12_watched_keys.
 * A watch is in two lists: that of its key, and that of its client. find() says whether a client
 * watches a key already. A watch that is freed must be in neither list, and not in `by_pair`.
 * A key that has ended has changed. db_find() removes it, and whatever removes a key calls
 * watches_touch(): so a watch may be freed while you go through the list of its client. */
bool watches_add(struct watches *w, struct db *db, struct bytes name)
{
    (void)w, (void)db, (void)name, (void)get_key, (void)leave_key, (void)find, (void)bytes_of;
    return true;
}

void watches_clear(struct watches *w)
{
    w->changed = false;
}

bool watches_changed(struct watches *w)
{
    return w->changed;
}

void watches_touch(struct db *db, struct bytes name)
{
    (void)db, (void)name;
}

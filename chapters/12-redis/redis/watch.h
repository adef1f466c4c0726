/* Keys that clients watch, so that EXEC runs nothing if one of them has changed.
 *
 *     watched_keys ---> watched_key "stock" ---> watch ---> watch
 *                                                  ^          ^
 *     watches of one client -----------------------+          |
 *     watches of another one ---------------------------------+
 *
 * A watch is in two lists, as a subscription is: that of its key, for the day on which the key
 * changes, and that of its client, for the day on which the client forgets its watches. A key that
 * nobody watches is not here, and costs nothing. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "redis/dict.h"
#include "wire/reader.h"

struct db;

/* How much memory the watches of one client may take, with the names of their keys. */
#define WATCHES_MAX_BYTES (64u << 20)

/* The keys of one database that are watched, whether they are there or not. */
struct watched_keys {
    struct dict by_name; /* owned; the value of an entry is a struct watched_key */
    struct dict by_pair; /* owned; that of an entry is a struct key_watch, and its key says of which
                          * client on which key */
};

struct watched_key {
    struct db *db;                          /* borrowed */
    struct entry *entry;                    /* borrowed; has the name */
    LIST_HEAD(watch_of_key, key_watch) all; /* at least one */
};

/* The watches of one client. All zero is none. */
struct watches {
    LIST_HEAD(watch_of_owner, key_watch) all; /* owned */
    uint32_t bytes;                           /* of memory, of all of them */
    bool changed; /* the mark: a watched key has changed, so EXEC runs nothing */
};

struct key_watch {
    struct watched_key *key;        /* borrowed */
    struct watches *owner;          /* borrowed */
    LIST_ENTRY(key_watch) of_key;   /* its place among the watches of the key */
    LIST_ENTRY(key_watch) of_owner; /* its place among the watches of the client */
};

void watched_keys_init(struct watched_keys *keys);

/* How many there are. */
size_t watched_keys_count(const struct watched_keys *keys);

/* No client may have watches any more. */
void watched_keys_free(struct watched_keys *keys);

/* Watches a key, if the client does not do so already. False: no memory, or too many bytes. */
bool watches_add(struct watches *w, struct db *db, struct bytes name);

/* Forgets all watches, and the mark. */
void watches_clear(struct watches *w);

/* Whether one of the keys has changed since the client began to watch it. A key that has ended
 * meanwhile has changed. */
bool watches_changed(struct watches *w);

/* A key changes: marks all clients that watch it. They need not watch it any longer. */
void watches_touch(struct db *db, struct bytes name);

#endif

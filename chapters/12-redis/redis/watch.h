/* Keys that clients watch, so that EXEC runs nothing if one of them has changed.
 *
 * A watch is a link between a client and the name of a key: see relation.h. Each database has its
 * own relation, with the keys that are watched, whether they are there or not. A key that nobody
 * watches is not in it, and costs nothing. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>

#include "redis/relation.h"
#include "wire/reader.h"

struct db;

/* The watches of one client. All zero is none. */
struct watches {
    struct owner *of; /* owned; its context is this struct */
    bool changed;     /* the mark: a watched key has changed, so EXEC runs nothing */
};

/* Whether there is space for another key: see relation.h. */
bool watches_fit(const struct watches *w, struct db *db, struct bytes name);

/* Watches a key, if the client does not do so already. False: no memory. */
bool watches_add(struct watches *w, struct db *db, struct bytes name);

/* Forgets all watches, and the mark. */
void watches_clear(struct watches *w);

/* Whether one of the keys has changed since the client began to watch it. A key that has ended
 * meanwhile has changed. */
bool watches_changed(struct watches *w);

/* A key changes: marks all clients that watch it. They need not watch it any longer. When all keys
 * of a database are removed, db->clears changes instead: their number does not matter then. */
void watches_touch(struct db *db, struct bytes name);

#endif

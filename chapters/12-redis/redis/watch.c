#include "redis/watch.h"

#include "redis/db.h"

bool watches_fit(const struct watches *w, struct db *db, struct bytes name)
{
    return relation_fits(&db->watched, w->of, name);
}

/* TODO 7: Remember who watches which key, and mark all these clients when the key changes.
 * Graded by test_12_watched_keys.
 * A watch is a link: see relation.h. It is in two lists, that of its key and that of its client.
 * A client whose links wait to be freed has no context any more.
 * A key that has ended has changed. db_find() removes it, and whatever removes a key calls
 * watches_touch(): so a link may be freed while you go through the list of its client. FLUSHALL
 * calls nothing: it adds 1 to the `clears` of each database. */
bool watches_add(struct watches *w, struct db *db, struct bytes name)
{
    (void)w, (void)db, (void)name;
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

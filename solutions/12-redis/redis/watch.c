#include "redis/watch.h"

#include "redis/db.h"

bool watches_fit(const struct watches *w, struct db *db, struct bytes name)
{
    return relation_fits(&db->watched, w->of, name);
}

// BEGIN watches
bool watches_add(struct watches *w, struct db *db, struct bytes name)
{
    /* A key that has ended is removed now: it is not there, and stays so. */
    bool is_there = db_find(db, name) != NULL;
    if (relation_link(w->of, relation_find(&db->watched, name)) != NULL)
        return true;
    struct link *link = relation_add(&db->watched, &w->of, w, name);
    if (link == NULL)
        return false;
    link->is_there = is_there;
    link->clears = db->clears;
    return true;
}

void watches_clear(struct watches *w)
{
    relation_leave(&w->of);
    w->changed = false;
}

bool watches_changed(struct watches *w)
{
    struct link *link = w->of != NULL ? LIST_FIRST(&w->of->all) : NULL;
    while (link != NULL && !w->changed) {
        struct link *next = LIST_NEXT(link, of_owner);
        struct db *db = link->name->relation->context;
        if (link->is_there && link->clears != db->clears)
            w->changed = true;
        /* If the time of the key is over, it is removed here. That is a change: it sets the mark,
         * and frees the link. */
        db_find(db, name_bytes(link->name));
        link = next;
    }
    return w->changed;
}

void watches_touch(struct db *db, struct bytes name)
{
    if (dict_count(&db->watched.by_name) == 0)
        return; /* as nearly always */
    const struct name *key = relation_find(&db->watched, name);
    struct link *link = key != NULL ? LIST_FIRST(&key->all) : NULL;
    while (link != NULL) {
        struct link *next = LIST_NEXT(link, of_name);
        struct watches *w = link->owner->context;
        if (w != NULL) /* else the client has forgotten its watches */
            w->changed = true;
        relation_remove(link); /* the last one frees the name, too */
        link = next;
    }
}
// END watches

#include "redis/relation.h"

#include <stdlib.h>

#include "redis/garbage.h"

void relation_init(struct relation *relation, void *context)
{
    relation->context = context;
    dict_init(&relation->by_name);
    dict_init(&relation->by_pair);
}

void relation_free(struct relation *relation)
{
    dict_free(&relation->by_name, NULL);
    dict_free(&relation->by_pair, NULL);
}

struct name *relation_find(struct relation *relation, struct bytes bytes)
{
    struct entry *entry = dict_find(&relation->by_name, bytes.data, bytes.size);
    return entry != NULL ? entry->value : NULL;
}

/* The name with these bytes, which is made if it is not there. NULL: no memory. */
static struct name *get_name(struct relation *relation, struct bytes bytes)
{
    struct name *name = relation_find(relation, bytes);
    if (name != NULL)
        return name;
    name = malloc(sizeof *name);
    if (name == NULL)
        return NULL;
    *name = (struct name){.relation = relation};
    LIST_INIT(&name->all);
    name->entry = dict_add(&relation->by_name, bytes.data, bytes.size, name);
    if (name->entry == NULL) {
        free(name);
        return NULL;
    }
    return name;
}

/* Frees a name, if nobody has it. */
static void leave_name(struct name *name)
{
    if (!LIST_EMPTY(&name->all))
        return;
    struct entry *entry = name->entry;
    free(dict_remove(&name->relation->by_name, entry->key, entry->size));
    free(name);
}

/* The key of a link in `by_pair`. */
struct pair {
    const struct owner *owner;
    const struct name *name;
};

struct link *relation_link(const struct owner *owner, const struct name *name)
{
    struct pair pair = {.owner = owner, .name = name};
    if (owner == NULL || name == NULL)
        return NULL;
    struct entry *entry = dict_find(&name->relation->by_pair, &pair, sizeof pair);
    return entry != NULL ? entry->value : NULL;
}

/* How much memory a link takes, with a name of so many bytes. */
static size_t cost(size_t size)
{
    size_t entries = 2 * sizeof(struct entry) + size + sizeof(struct pair);
    return sizeof(struct link) + sizeof(struct name) + entries;
}

bool relation_fits(struct relation *relation, const struct owner *owner, struct bytes bytes)
{
    size_t left = OWNER_MAX_BYTES - (owner != NULL ? owner->bytes : 0);
    return cost(bytes.size) <= left || relation_link(owner, relation_find(relation, bytes)) != NULL;
}

/* An owner without names. NULL: no memory. */
static struct owner *owner_new(void *context)
{
    struct owner *owner = malloc(sizeof *owner);
    if (owner == NULL)
        return NULL;
    *owner = (struct owner){.context = context};
    LIST_INIT(&owner->all);
    return owner;
}

/* Makes a link that is not there yet. NULL: no memory. */
static struct link *add_link(struct owner *owner, struct name *name)
{
    struct pair pair = {.owner = owner, .name = name};
    struct link *link = malloc(sizeof *link);
    if (link == NULL || dict_add(&name->relation->by_pair, &pair, sizeof pair, link) == NULL) {
        free(link);
        return NULL;
    }
    *link = (struct link){.name = name, .owner = owner};
    LIST_INSERT_HEAD(&name->all, link, of_name);
    LIST_INSERT_HEAD(&owner->all, link, of_owner);
    owner->count++;
    owner->bytes += cost(name->entry->size);
    return link;
}

struct link *relation_add(struct relation *relation, struct owner **owner, void *context,
                          struct bytes bytes)
{
    if (*owner == NULL)
        *owner = owner_new(context);
    struct name *name = *owner != NULL ? get_name(relation, bytes) : NULL;
    if (name == NULL)
        return NULL;
    struct link *link = relation_link(*owner, name);
    if (link == NULL)
        link = add_link(*owner, name);
    leave_name(name); /* if there was no memory for its first link */
    return link;
}

void relation_remove(struct link *link)
{
    struct name *name = link->name;
    struct owner *owner = link->owner;
    struct pair pair = {.owner = owner, .name = name};
    free(dict_remove(&name->relation->by_pair, &pair, sizeof pair));
    LIST_REMOVE(link, of_name);
    LIST_REMOVE(link, of_owner);
    owner->count--;
    owner->bytes -= cost(name->entry->size);
    free(link);
    leave_name(name);
}

/* Frees one link of an owner, or the owner when it has none any more. */
static bool free_some(void *thing)
{
    struct owner *owner = thing;
    if (owner->count == 0) {
        free(owner);
        return false;
    }
    relation_remove(LIST_FIRST(&owner->all));
    return true;
}

void relation_leave(struct owner **owner)
{
    if (*owner == NULL)
        return;
    (*owner)->context = NULL;
    garbage_add(*owner, free_some);
    *owner = NULL;
}

size_t owner_count(const struct owner *owner)
{
    return owner != NULL ? owner->count : 0;
}

struct bytes name_bytes(const struct name *name)
{
    return (struct bytes){.data = name->entry->key, .size = name->entry->size};
}

/* Which owners have which names: the channels of connections, and the keys that clients watch.
 *
 *     relation ---> name "chat" ---> link ---> link
 *                                     ^         ^
 *     owner --------------------------+         |
 *     another owner ----------------------------+
 *
 * A link is in two lists: that of its name, for the day on which something happens to the name, and
 * that of its owner, for the day on which the owner leaves. A name without links is forgotten. */
#ifndef RELATION_H
#define RELATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "redis/dict.h"
#include "wire/reader.h"

/* How much memory the names of one owner may take, with what is needed for each. */
#define OWNER_MAX_BYTES (64u << 20)

struct relation {
    void *context;       /* borrowed; only its user knows what this is */
    struct dict by_name; /* owned; the value of an entry is a struct name */
    struct dict by_pair; /* owned; that of an entry is a struct link, and its key says of which
                          * owner to which name */
};

struct name {
    struct relation *relation;          /* borrowed */
    struct entry *entry;                /* borrowed; has the bytes */
    LIST_HEAD(links_of_name, link) all; /* at least one */
};

/* An owner of names, which may be of several relations. */
struct owner {
    void *context;                       /* borrowed; NULL: it has left, and its links are freed */
    LIST_HEAD(links_of_owner, link) all; /* owned */
    size_t count;
    size_t bytes; /* of memory, of all its links */
};

struct link {
    struct name *name;         /* borrowed */
    struct owner *owner;       /* borrowed */
    LIST_ENTRY(link) of_name;  /* its place among the links of the name */
    LIST_ENTRY(link) of_owner; /* its place among the links of the owner */
    bool is_there;             /* whether the key was there when the link was made, */
    uint32_t clears;           /* and the `clears` of its database: only watch.c uses these */
};

void relation_init(struct relation *relation, void *context);

/* No owner may have names any more. */
void relation_free(struct relation *relation);

/* The name with these bytes. NULL: nobody has it. */
struct name *relation_find(struct relation *relation, struct bytes bytes);

/* Whether an owner, or a new one if that is NULL, may have this name, too. */
bool relation_fits(struct relation *relation, const struct owner *owner, struct bytes bytes);

/* Gives a name to an owner, if it does not have it already. *owner: NULL until it has a name; then
 * one with this context is made. Returns the link, or NULL: no memory; nothing has changed. */
struct link *relation_add(struct relation *relation, struct owner **owner, void *context,
                          struct bytes bytes);

/* Frees a link; and its name, if that was the last one. */
void relation_remove(struct link *link);

/* The link between the two. NULL: the owner, or NULL, does not have the name, or NULL. */
struct link *relation_link(const struct owner *owner, const struct name *name);

/* Takes all names from an owner, which is NULL then. Its context hears nothing more at once; if
 * there are a great many links, they are freed later: see garbage.h. */
void relation_leave(struct owner **owner);

/* How many names an owner has; NULL has none. */
size_t owner_count(const struct owner *owner);

struct bytes name_bytes(const struct name *name);

#endif

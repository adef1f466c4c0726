/* Lists of strings.
 *
 * Each item is a piece of memory of its own, so both ends cost the same however long the list is,
 * and no item is ever moved. */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "redis/value.h"
#include "wire/reader.h"

struct item {
    TAILQ_ENTRY(item) others;
    size_t size;
    uint8_t bytes[];
};

TAILQ_HEAD(items, item);

struct list {
    struct value value;
    struct items items; /* owned */
    size_t count;
};

enum list_end { LIST_LEFT, LIST_RIGHT };

/* An empty list. NULL: no memory. */
struct list *list_new(void);

/* Frees a list and its items. Those of a long list are freed later, see garbage.h. */
void list_free(struct list *list);

/* Adds a copy of the text at one end. False: no memory; nothing has changed. */
bool list_push(struct list *list, enum list_end end, struct bytes text);

/* Puts a copy of the text in the place of an item, which is freed. False: no memory; nothing has
 * changed. */
bool list_replace(struct list *list, struct item *old, struct bytes text);

/* Takes the item at one end out of a list that is not empty. The caller frees it with free(). */
struct item *list_pop(struct list *list, enum list_end end);

/* The item at an index below `count`, which is looked for from the nearer end. */
struct item *list_at(const struct list *list, size_t index);

struct bytes item_bytes(const struct item *item);

#endif

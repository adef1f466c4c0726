#include "redis/list.h"

#include <stdlib.h>
#include <string.h>

#include "redis/garbage.h"

struct list *list_new(void)
{
    struct list *list = malloc(sizeof *list);
    if (list == NULL)
        return NULL;
    *list = (struct list){.value = {.type = VALUE_LIST}};
    TAILQ_INIT(&list->items);
    return list;
}

/* Frees one item, or the list when there is none any more. */
static bool free_some(void *thing)
{
    struct list *list = thing;
    if (list->count == 0) {
        free(list);
        return false;
    }
    free(list_pop(list, LIST_LEFT));
    return true;
}

void list_free(struct list *list)
{
    garbage_add(list, free_some);
}

/* An item with a copy of the text. NULL: no memory. */
static struct item *item_new(struct bytes text)
{
    struct item *item = malloc(sizeof *item + text.size);
    if (item == NULL)
        return NULL;
    item->size = text.size;
    memcpy(item->bytes, text.data, text.size);
    return item;
}

bool list_push(struct list *list, enum list_end end, struct bytes text)
{
    struct item *item = item_new(text);
    if (item == NULL)
        return false;
    if (end == LIST_LEFT)
        TAILQ_INSERT_HEAD(&list->items, item, others);
    else
        TAILQ_INSERT_TAIL(&list->items, item, others);
    list->count++;
    return true;
}

bool list_replace(struct list *list, struct item *old, struct bytes text)
{
    struct item *item = item_new(text);
    if (item == NULL)
        return false;
    TAILQ_INSERT_AFTER(&list->items, old, item, others);
    TAILQ_REMOVE(&list->items, old, others);
    free(old);
    return true;
}

struct item *list_pop(struct list *list, enum list_end end)
{
    struct item *item =
        end == LIST_LEFT ? TAILQ_FIRST(&list->items) : TAILQ_LAST(&list->items, items);
    TAILQ_REMOVE(&list->items, item, others);
    list->count--;
    return item;
}

struct item *list_at(const struct list *list, size_t index)
{
    struct item *item;
    if (index < list->count / 2) {
        item = TAILQ_FIRST(&list->items);
        while (index-- > 0)
            item = TAILQ_NEXT(item, others);
        return item;
    }
    item = TAILQ_LAST(&list->items, items);
    while (++index < list->count)
        item = TAILQ_PREV(item, items, others);
    return item;
}

struct bytes item_bytes(const struct item *item)
{
    return (struct bytes){.data = item->bytes, .size = item->size};
}

#include "redis/list.h"

#include <stdlib.h>
#include <string.h>

struct list *list_new(void)
{
    struct list *list = malloc(sizeof *list);
    if (list == NULL)
        return NULL;
    *list = (struct list){.value = {.type = VALUE_LIST}};
    TAILQ_INIT(&list->items);
    return list;
}

void list_clear(struct list *list)
{
    while (list->count > 0)
        free(list_pop(list, LIST_LEFT));
}

bool list_push(struct list *list, enum list_end end, struct bytes text)
{
    struct item *item = malloc(sizeof *item + text.size);
    if (item == NULL)
        return false;
    item->size = text.size;
    memcpy(item->bytes, text.data, text.size);
    if (end == LIST_LEFT)
        TAILQ_INSERT_HEAD(&list->items, item, others);
    else
        TAILQ_INSERT_TAIL(&list->items, item, others);
    list->count++;
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

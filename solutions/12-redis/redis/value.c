#include "redis/value.h"

#include <stdlib.h>
#include <string.h>

#include "redis/expiry.h"
#include "redis/list.h"

const char *value_type_name(const struct value *value)
{
    return value->type == VALUE_STRING ? "string" : "list";
}

void value_free(struct value *value)
{
    expiry_clear(value);
    if (value->type == VALUE_LIST)
        list_free((struct list *)value);
    else
        free(value);
}

struct string *string_new(struct bytes text)
{
    struct string *s = malloc(sizeof *s + text.size);
    if (s == NULL)
        return NULL;
    *s = (struct string){
        .value = {.type = VALUE_STRING},
        .size = (uint32_t)text.size,
        .cap = (uint32_t)text.size,
    };
    memcpy(s->bytes, text.data, text.size);
    return s;
}

bool string_overwrite(struct value *value, struct bytes text)
{
    struct string *s = (struct string *)value;
    if (value->type != VALUE_STRING || text.size > s->cap || text.size < s->cap / 2)
        return false;
    memcpy(s->bytes, text.data, text.size);
    s->size = (uint32_t)text.size;
    return true;
}

struct bytes string_bytes(const struct string *s)
{
    return (struct bytes){.data = s->bytes, .size = s->size};
}

struct string *string_append(struct string *s, struct bytes text)
{
    size_t size = s->size + text.size;
    if (size > s->cap) {
        size_t cap = size > 2 * (size_t)s->cap ? size : 2 * (size_t)s->cap;
        s = realloc(s, sizeof *s + cap);
        if (s == NULL)
            return NULL;
        s->cap = (uint32_t)cap;
    }
    memcpy(s->bytes + s->size, text.data, text.size);
    s->size = (uint32_t)size;
    return s;
}

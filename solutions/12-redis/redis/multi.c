#include "redis/multi.h"

#include <stdlib.h>
#include <string.h>

void multi_open(struct multi *multi)
{
    *multi = (struct multi){.open = true};
    STAILQ_INIT(&multi->queue);
}

// BEGIN transaction
bool multi_add(struct multi *multi, const struct command *command, const struct request *request)
{
    size_t places = request->count * sizeof *request->places;
    size_t size = sizeof(struct queued) + places + request->size;
    if (size > MULTI_MAX_BYTES - multi->bytes)
        return false;
    struct queued *queued = malloc(size);
    if (queued == NULL)
        return false;
    /* A place is counted from the first byte of the request: so it is right for the copy, too. */
    uint8_t *bytes = (uint8_t *)queued->places + places;
    memcpy(queued->places, request->places, places);
    memcpy(bytes, request->bytes, request->size);
    queued->command = command;
    queued->request = (struct request){bytes, request->size, queued->places, request->count};
    STAILQ_INSERT_TAIL(&multi->queue, queued, others);
    multi->count++;
    multi->bytes += size;
    return true;
}

struct queued *multi_take(struct multi *multi)
{
    if (multi->count == 0)
        return NULL;
    struct queued *queued = STAILQ_FIRST(&multi->queue);
    STAILQ_REMOVE_HEAD(&multi->queue, others);
    multi->count--;
    return queued;
}

void multi_close(struct multi *multi)
{
    struct queued *queued;
    while ((queued = multi_take(multi)) != NULL)
        free(queued);
    *multi = (struct multi){0};
}
// END transaction

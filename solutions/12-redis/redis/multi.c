#include "redis/multi.h"

#include <stdlib.h>
#include <string.h>

#include "redis/garbage.h"

void multi_open(struct multi *multi)
{
    *multi = (struct multi){.open = true};
    STAILQ_INIT(&multi->queue);
}

/* How much memory a command takes while it waits. */
static size_t cost(const struct request *request)
{
    return sizeof(struct queued) + request->count * sizeof *request->places + request->size;
}

bool multi_fits(const struct multi *multi, const struct request *request)
{
    return cost(request) <= MULTI_MAX_BYTES - multi->bytes;
}

// BEGIN transaction
bool multi_add(struct multi *multi, const struct command *command, const struct request *request)
{
    size_t places = request->count * sizeof *request->places;
    struct queued *queued = malloc(cost(request));
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
    multi->bytes += cost(request);
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

// END transaction

/* Frees one command of a queue that nobody runs any more; or the queue, when it has none. */
static bool free_some(void *thing)
{
    struct multi *left = thing;
    struct queued *queued = multi_take(left);
    free(queued != NULL ? (void *)queued : left);
    return queued != NULL;
}

void multi_close(struct multi *multi)
{
    struct multi *left = multi->count > 0 ? malloc(sizeof *left) : NULL;
    if (left != NULL) {
        *left = *multi;
        garbage_add(left, free_some);
    } else {
        struct queued *queued;
        while ((queued = multi_take(multi)) != NULL)
            free(queued);
    }
    *multi = (struct multi){0};
}

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

/* TODO 6: Keep a copy of each command until EXEC takes it, and count its bytes. Graded by
 * test_12_commands_wait_for_exec.
 * The request is gone once dispatch() has returned. Its places are counted from its first byte,
 * so they are right for a copy, too. One block can hold all of it. */
bool multi_add(struct multi *multi, const struct command *command, const struct request *request)
{
    (void)multi, (void)command, (void)request;
    return false;
}

struct queued *multi_take(struct multi *multi)
{
    (void)multi;
    return NULL;
}

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

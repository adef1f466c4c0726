#include "redis/multi.h"

#include <stdlib.h>
#include <string.h>

void multi_open(struct multi *multi)
{
    *multi = (struct multi){.open = true};
    STAILQ_INIT(&multi->queue);
}

/* TODO 6: Keep a copy of each command until EXEC takes it, in at most MULTI_MAX_BYTES. Graded by
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

void multi_close(struct multi *multi)
{
    *multi = (struct multi){0};
}

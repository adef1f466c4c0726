/* A transaction: commands that wait for EXEC, and are then run one after the other, with no other
 * client's command in between. */
#ifndef MULTI_H
#define MULTI_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "redis/resp.h"

/* How much memory the commands that wait may take: as much as the largest request. */
#define MULTI_MAX_BYTES RESP_MAX_REQUEST_BYTES

struct command;

/* A command that waits. Its own copy of the request follows in the same block: first the places of
 * the arguments, then the bytes. */
struct queued {
    STAILQ_ENTRY(queued) others;
    const struct command *command; /* borrowed */
    struct request request;
    struct place places[];
};

/* All zero is no transaction. */
struct multi {
    bool open;   /* after MULTI, before EXEC or DISCARD */
    bool broken; /* a command could not be queued, so EXEC runs none */
    size_t count;
    size_t bytes;                     /* of memory, of all that wait */
    STAILQ_HEAD(queue, queued) queue; /* owned; not used before multi_open() */
};

/* Begins a transaction. None may have begun. */
void multi_open(struct multi *multi);

/* Whether there is space for a command in the queue. */
bool multi_fits(const struct multi *multi, const struct request *request);

/* Appends a command to the queue. False: no memory. */
bool multi_add(struct multi *multi, const struct command *command, const struct request *request);

/* Takes out the command that has waited longest. The caller frees it with free(). NULL: none waits
 * any more. */
struct queued *multi_take(struct multi *multi);

/* Ends the transaction, if there is one, and frees the commands that wait: a great many of them
 * later, see garbage.h. */
void multi_close(struct multi *multi);

#endif

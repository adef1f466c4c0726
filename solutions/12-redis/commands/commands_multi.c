/* Transactions. dispatch.c puts commands into the queue. */

#include <stdlib.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/multi.h"

void command_multi(struct call *call)
{
    struct multi *multi = &call->client->multi;
    if (multi->open) {
        reply_error(call->reply, "ERR MULTI calls can not be nested");
        return;
    }
    multi_open(multi);
    call_ok(call);
}

/* Runs the commands that wait, each with a reply of its own. */
static void run_all(struct call *call, struct multi *multi)
{
    struct queued *queued;
    while ((queued = multi_take(multi)) != NULL) {
        struct call next = {
            .client = call->client,
            .command = queued->command,
            .request = &queued->request,
            .reply = call->reply,
        };
        next.command->run(&next);
        free(queued);
    }
}

void command_exec(struct call *call)
{
    struct multi *multi = &call->client->multi;
    if (!multi->open) {
        reply_error(call->reply, "ERR EXEC without MULTI");
    } else if (multi->broken) {
        reply_error(call->reply, "EXECABORT Transaction discarded because of previous errors.");
    } else {
        reply_array(call->reply, multi->count);
        run_all(call, multi);
    }
    multi_close(multi);
}

void command_discard(struct call *call)
{
    struct multi *multi = &call->client->multi;
    if (!multi->open) {
        reply_error(call->reply, "ERR DISCARD without MULTI");
        return;
    }
    multi_close(multi);
    call_ok(call);
}

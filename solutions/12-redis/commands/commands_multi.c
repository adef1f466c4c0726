/* Transactions, and what has to stay as it is until they run. dispatch.c puts commands into the
 * queue. */

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
    struct client *client = call->client;
    struct multi *multi = &client->multi;
    if (!multi->open) {
        reply_error(call->reply, "ERR EXEC without MULTI");
        return;
    }
    bool changed = watches_changed(&client->watches);
    watches_clear(&client->watches); /* what runs now may change these keys */
    if (multi->broken) {
        reply_error(call->reply, "EXECABORT Transaction discarded because of previous errors.");
    } else if (changed) {
        reply_no_array(call->reply);
    } else {
        reply_array(call->reply, multi->count);
        run_all(call, multi);
    }
    multi_close(multi);
}

void command_discard(struct call *call)
{
    if (!call->client->multi.open) {
        reply_error(call->reply, "ERR DISCARD without MULTI");
        return;
    }
    client_end_transaction(call->client);
    call_ok(call);
}

/* Watches one key more. False: the error is written. */
static bool watch(const struct call *call, struct bytes name)
{
    struct client *client = call->client;
    if (client->watches.changed)
        return true;
    if (!watches_fit(&client->watches, client->db, name)) {
        client->watches.changed = true; /* without this watch it must not run */
        reply_error(call->reply, "ERR too many keys are watched");
        return false;
    }
    if (watches_add(&client->watches, client->db, name))
        return true;
    call_no_memory(call);
    return false;
}

void command_watch(struct call *call)
{
    if (call->client->multi.open) {
        reply_error(call->reply, "ERR WATCH inside MULTI is not allowed");
        return;
    }
    for (size_t i = 1; i < call->request->count; i++)
        if (!watch(call, call_arg(call, i)))
            return;
    call_ok(call);
}

void command_unwatch(struct call *call)
{
    watches_clear(&call->client->watches);
    call_ok(call);
}

/* Commands for channels. SUBSCRIBE and UNSUBSCRIBE have one reply for each channel. */

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/channels.h"

/* Writes what has happened with a channel, and how many the client has now. */
static void write_count(const struct call *call, const char *what, struct bytes name, size_t count)
{
    reply_array(call->reply, 3);
    reply_text(call->reply, what);
    reply_string(call->reply, name);
    reply_number(call->reply, (int64_t)count);
}

void command_subscribe(struct call *call)
{
    struct subscriptions *subscriptions = &call->client->subscriptions;
    for (size_t i = 1; i < call->request->count; i++) {
        if (!subscriptions_add(subscriptions, call_arg(call, i))) {
            call_no_memory(call);
            return;
        }
        write_count(call, "subscribe", call_arg(call, i), subscriptions->count);
    }
}

/* Without arguments: of all channels. */
static void unsubscribe_all(const struct call *call)
{
    struct subscriptions *subscriptions = &call->client->subscriptions;
    if (subscriptions->count == 0) {
        reply_array(call->reply, 3);
        reply_text(call->reply, "unsubscribe");
        reply_nil(call->reply);
        reply_number(call->reply, 0);
    }
    while (subscriptions->count > 0) {
        struct bytes name = subscriptions_first(subscriptions);
        write_count(call, "unsubscribe", name, subscriptions->count - 1);
        subscriptions_remove(subscriptions, name);
    }
}

void command_unsubscribe(struct call *call)
{
    struct subscriptions *subscriptions = &call->client->subscriptions;
    if (call->request->count == 1)
        unsubscribe_all(call);
    for (size_t i = 1; i < call->request->count; i++) {
        subscriptions_remove(subscriptions, call_arg(call, i));
        write_count(call, "unsubscribe", call_arg(call, i), subscriptions->count);
    }
}

void command_publish(struct call *call)
{
    struct channels *channels = &call->client->redis->channels;
    size_t reached = channels_publish(channels, call_arg(call, 1), call_arg(call, 2));
    reply_number(call->reply, (int64_t)reached);
}

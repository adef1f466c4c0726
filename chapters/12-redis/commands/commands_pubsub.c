/* Commands for channels. Those that subscribe and unsubscribe have one reply for each channel, or
 * for each pattern. */

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/channels.h"

/* What these commands say, for each kind. */
static const char *const subscribed[CHANNEL_KINDS] = {"subscribe", "psubscribe"};
static const char *const unsubscribed[CHANNEL_KINDS] = {"unsubscribe", "punsubscribe"};

/* Begins a reply: what has happened with which channel. */
static void write_name(const struct call *call, const char *what, struct bytes name)
{
    reply_array(call->reply, 3);
    reply_text(call->reply, what);
    reply_string(call->reply, name);
}

/* Ends it: how many subscriptions the client has now. */
static void write_count(const struct call *call)
{
    reply_number(call->reply, (int64_t)subscriptions_count(&call->client->subscriptions));
}

static void subscribe(const struct call *call, enum channel_kind kind)
{
    struct subscriptions *subscriptions = &call->client->subscriptions;
    for (size_t i = 1; i < call->request->count; i++) {
        if (!subscriptions_fit(subscriptions, kind, call_arg(call, i))) {
            reply_error(call->reply, "ERR too many channels or patterns");
            return;
        }
        if (!subscriptions_add(subscriptions, kind, call_arg(call, i))) {
            call_no_memory(call);
            return;
        }
        write_name(call, subscribed[kind], call_arg(call, i));
        write_count(call);
    }
}

void command_subscribe(struct call *call)
{
    subscribe(call, CHANNEL_NAME);
}

void command_psubscribe(struct call *call)
{
    subscribe(call, CHANNEL_PATTERN);
}

/* The client has none of this kind. */
static void write_none(const struct call *call, enum channel_kind kind)
{
    reply_array(call->reply, 3);
    reply_text(call->reply, unsubscribed[kind]);
    reply_nil(call->reply);
    write_count(call);
}

/* Without arguments: of all channels, or all patterns. */
static void unsubscribe_all(const struct call *call, enum channel_kind kind)
{
    struct subscriptions *subscriptions = &call->client->subscriptions;
    if (owner_count(subscriptions->of[kind]) == 0)
        write_none(call, kind);
    while (owner_count(subscriptions->of[kind]) > 0) {
        struct bytes name = subscriptions_any(subscriptions, kind);
        write_name(call, unsubscribed[kind], name);
        subscriptions_remove(subscriptions, kind, name); /* frees the name */
        write_count(call);
    }
}

static void unsubscribe(const struct call *call, enum channel_kind kind)
{
    if (call->request->count == 1)
        unsubscribe_all(call, kind);
    for (size_t i = 1; i < call->request->count; i++) {
        subscriptions_remove(&call->client->subscriptions, kind, call_arg(call, i));
        write_name(call, unsubscribed[kind], call_arg(call, i));
        write_count(call);
    }
}

void command_unsubscribe(struct call *call)
{
    unsubscribe(call, CHANNEL_NAME);
}

void command_punsubscribe(struct call *call)
{
    unsubscribe(call, CHANNEL_PATTERN);
}

void command_publish(struct call *call)
{
    struct channels *channels = &call->client->redis->channels;
    size_t reached = channels_publish(channels, call_arg(call, 1), call_arg(call, 2));
    reply_number(call->reply, (int64_t)reached);
}

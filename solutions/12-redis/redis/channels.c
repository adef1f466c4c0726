#include "redis/channels.h"

#include <stdlib.h>

#include "redis/reply.h"
#include "redis/resp.h"
#include "server/conn.h"

void channels_init(struct channels *channels)
{
    dict_init(&channels->by_name);
    dict_init(&channels->by_pair);
}

void channels_free(struct channels *channels)
{
    dict_free(&channels->by_name, NULL);
    dict_free(&channels->by_pair, NULL);
}

static struct channel *find_channel(struct channels *channels, struct bytes name)
{
    struct entry *entry = dict_find(&channels->by_name, name.data, name.size);
    return entry != NULL ? entry->value : NULL;
}

/* The channel with this name, which is created if it is not there. NULL: no memory. */
static struct channel *get_channel(struct channels *channels, struct bytes name)
{
    struct channel *channel = find_channel(channels, name);
    if (channel != NULL)
        return channel;
    channel = malloc(sizeof *channel);
    struct entry *entry = dict_entry(name.data, name.size, channel);
    if (channel == NULL || entry == NULL || !dict_insert(&channels->by_name, entry)) {
        free(entry);
        free(channel);
        return NULL;
    }
    *channel = (struct channel){.entry = entry};
    LIST_INIT(&channel->subscribers);
    return channel;
}

/* Frees a channel, if nobody has subscribed to it. */
static void leave_channel(struct channels *channels, struct channel *channel)
{
    if (!LIST_EMPTY(&channel->subscribers))
        return;
    struct entry *entry = channel->entry;
    free(dict_remove(&channels->by_name, entry->key, entry->size));
    free(channel);
}

/* The key of a subscription in `by_pair`. */
struct pair {
    const struct subscriptions *owner;
    const struct channel *channel;
};

static struct subscription *find(const struct subscriptions *s, const struct channel *channel)
{
    struct pair pair = {.owner = s, .channel = channel};
    struct entry *entry = dict_find(&s->channels->by_pair, &pair, sizeof pair);
    return entry != NULL ? entry->value : NULL;
}

void subscriptions_init(struct subscriptions *s, struct channels *channels, struct conn *conn)
{
    *s = (struct subscriptions){.channels = channels, .conn = conn};
    TAILQ_INIT(&s->list);
}

/* Makes a subscription that is not there yet. False: no memory. */
static bool add(struct subscriptions *s, struct channel *channel)
{
    struct pair pair = {.owner = s, .channel = channel};
    struct subscription *subscription = malloc(sizeof *subscription);
    struct entry *entry = dict_entry(&pair, sizeof pair, subscription);
    if (subscription == NULL || entry == NULL || !dict_insert(&s->channels->by_pair, entry)) {
        free(entry);
        free(subscription);
        return false;
    }
    *subscription = (struct subscription){.channel = channel, .owner = s};
    LIST_INSERT_HEAD(&channel->subscribers, subscription, of_channel);
    TAILQ_INSERT_TAIL(&s->list, subscription, of_owner);
    s->count++;
    return true;
}

bool subscriptions_add(struct subscriptions *s, struct bytes name)
{
    struct channel *channel = get_channel(s->channels, name);
    if (channel == NULL)
        return false;
    if (find(s, channel) != NULL || add(s, channel))
        return true;
    leave_channel(s->channels, channel);
    return false;
}

static void remove_one(struct subscription *subscription)
{
    struct subscriptions *s = subscription->owner;
    struct channel *channel = subscription->channel;
    struct pair pair = {.owner = s, .channel = channel};
    free(dict_remove(&s->channels->by_pair, &pair, sizeof pair));
    TAILQ_REMOVE(&s->list, subscription, of_owner);
    LIST_REMOVE(subscription, of_channel);
    s->count--;
    free(subscription);
    leave_channel(s->channels, channel);
}

void subscriptions_remove(struct subscriptions *s, struct bytes name)
{
    struct channel *channel = find_channel(s->channels, name);
    struct subscription *subscription = channel != NULL ? find(s, channel) : NULL;
    if (subscription != NULL)
        remove_one(subscription);
}

void subscriptions_clear(struct subscriptions *s)
{
    while (s->count > 0)
        remove_one(TAILQ_FIRST(&s->list));
}

struct bytes subscriptions_first(const struct subscriptions *s)
{
    const struct entry *entry = TAILQ_FIRST(&s->list)->channel->entry;
    return (struct bytes){.data = entry->key, .size = entry->size};
}

// BEGIN subscribers
/* Queues a message for one subscriber. False: that connection does not get
 * it. */
static bool push(struct conn *c, struct bytes name, struct bytes message)
{
    if (c->end != CONN_GOES_ON || co_is_broken(&c->socket))
        return false;
    /* The publisher must not wait for this subscriber, and the memory for its messages is bounded.
     * So a subscriber that does not take them is closed, once more is queued than may be queued for
     * a reply and one message. */
    size_t limit = c->worker->config->limits.high_water + RESP_MAX_ARGUMENT_BYTES;
    if (buffer_len(&c->out) + message.size > limit) {
        conn_close(c, "does not take its messages");
        return false;
    }
    struct reply push = {.out = &c->out};
    reply_array(&push, 3);
    reply_text(&push, "message");
    reply_string(&push, name);
    reply_string(&push, message);
    if (push.failed != NULL) {
        conn_close(c, push.failed);
        return false;
    }
    conn_send_later(c);
    return true;
}

size_t channels_publish(struct channels *channels, struct bytes name, struct bytes message)
{
    struct channel *channel = find_channel(channels, name);
    if (channel == NULL)
        return 0;
    size_t reached = 0;
    /* A connection that is closed here keeps its subscriptions until its own coroutine runs. */
    for (struct subscription *subscription = LIST_FIRST(&channel->subscribers);
         subscription != NULL; subscription = LIST_NEXT(subscription, of_channel))
        reached += push(subscription->owner->conn, name, message);
    return reached;
}
// END subscribers

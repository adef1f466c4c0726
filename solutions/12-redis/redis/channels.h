/* Channels: each message that a client publishes goes to all connections that have subscribed.
 *
 *     channels ---> channel "chat" ---> subscription ---> subscription
 *                                            ^                  ^
 *     subscriptions of one connection -------+                  |
 *     subscriptions of another one -----------------------------+
 *
 * A subscription is in two lists: that of its channel, for publishing, and that of its connection,
 * for the day on which the connection is closed. A channel without subscribers is forgotten.
 *
 * A pattern is kept like a channel: it stands for all channels whose name fits it. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "redis/dict.h"
#include "wire/reader.h"

struct conn;

/* What a client has subscribed to. */
enum channel_kind { CHANNEL_NAME, CHANNEL_PATTERN, CHANNEL_KINDS };

struct channels {
    struct dict by_name[CHANNEL_KINDS]; /* owned; the value of an entry is a struct channel */
    struct dict by_pair; /* owned; that of an entry is a struct subscription, and its key says of
                          * which connection to which channel */
};

struct channel {
    struct entry *entry; /* borrowed; has the name, or the pattern */
    enum channel_kind kind;
    LIST_HEAD(subscribers, subscription) subscribers; /* at least one */
};

/* The subscriptions of one connection that have one kind. */
struct subscription_list {
    LIST_HEAD(subscriptions_of_owner, subscription) all; /* owned */
    size_t count;
};

/* All subscriptions of one connection. */
struct subscriptions {
    struct channels *channels; /* borrowed */
    struct conn *conn;         /* borrowed */
    struct subscription_list of[CHANNEL_KINDS];
};

struct subscription {
    struct channel *channel;             /* borrowed */
    struct subscriptions *owner;         /* borrowed */
    LIST_ENTRY(subscription) of_channel; /* its place among the subscribers */
    LIST_ENTRY(subscription) of_owner;   /* its place among the subscriptions */
};

void channels_init(struct channels *channels);

/* No connection may have subscriptions any more. */
void channels_free(struct channels *channels);

void subscriptions_init(struct subscriptions *s, struct channels *channels, struct conn *conn);

/* How many a connection has, of both kinds. */
size_t subscriptions_count(const struct subscriptions *s);

/* Adds a channel or a pattern, if it is not there already. False: no memory. */
bool subscriptions_add(struct subscriptions *s, enum channel_kind kind, struct bytes name);

/* Removes a channel or a pattern, if it is there. */
void subscriptions_remove(struct subscriptions *s, enum channel_kind kind, struct bytes name);

/* Removes all channels and patterns. */
void subscriptions_clear(struct subscriptions *s);

/* The name of one of the channels, or of the patterns. There must be one. */
struct bytes subscriptions_any(const struct subscriptions *s, enum channel_kind kind);

/* Sends a message to all connections that have subscribed to this channel, and once more for each
 * pattern of theirs that its name fits. Returns how many times. A connection that does not take its
 * messages is closed, and does not count. */
size_t channels_publish(struct channels *channels, struct bytes name, struct bytes message);

#endif

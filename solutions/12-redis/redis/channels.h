/* Channels: each message that a client publishes goes to all connections that have subscribed.
 *
 *     channels ---> channel "chat" ---> subscription ---> subscription
 *                                            ^                  ^
 *     subscriptions of one connection -------+                  |
 *     subscriptions of another one -----------------------------+
 *
 * A subscription is in two lists: that of its channel, for publishing, and that of its connection,
 * for the day on which the connection is closed. A channel without subscribers is forgotten. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "redis/dict.h"
#include "wire/reader.h"

struct conn;

struct channels {
    struct dict by_name; /* owned; the value of an entry is a struct channel */
    struct dict by_pair; /* owned; that of an entry is a struct subscription, and its key says of
                          * which connection to which channel */
};

struct channel {
    struct entry *entry;                              /* borrowed; has the name */
    LIST_HEAD(subscribers, subscription) subscribers; /* at least one */
};

/* The subscriptions of one connection. */
struct subscriptions {
    struct channels *channels;                        /* borrowed */
    struct conn *conn;                                /* borrowed */
    TAILQ_HEAD(subscription_list, subscription) list; /* owned; the oldest first */
    size_t count;
};

struct subscription {
    struct channel *channel;             /* borrowed */
    struct subscriptions *owner;         /* borrowed */
    LIST_ENTRY(subscription) of_channel; /* its place among the subscribers */
    TAILQ_ENTRY(subscription) of_owner;  /* its place among the subscriptions */
};

void channels_init(struct channels *channels);

/* No connection may have subscriptions any more. */
void channels_free(struct channels *channels);

void subscriptions_init(struct subscriptions *s, struct channels *channels, struct conn *conn);

/* Adds a channel, if it is not there already. False: no memory. */
bool subscriptions_add(struct subscriptions *s, struct bytes name);

/* Removes a channel, if it is there. */
void subscriptions_remove(struct subscriptions *s, struct bytes name);

/* Removes all channels. */
void subscriptions_clear(struct subscriptions *s);

/* The name of the oldest one. There must be one. */
struct bytes subscriptions_first(const struct subscriptions *s);

/* Sends a message to all connections that have subscribed to this channel. Returns how many. A
 * connection that does not take its messages is closed, and does not count. */
size_t channels_publish(struct channels *channels, struct bytes name, struct bytes message);

#endif

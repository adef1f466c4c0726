/* Channels: each message that a client publishes goes to all connections that have subscribed.
 *
 * A subscription is a link between a connection and the name of a channel: see relation.h. A
 * pattern is kept like a channel: it stands for all channels whose name fits it. */
#ifndef CHANNELS_H
#define CHANNELS_H

#include <stdbool.h>
#include <stddef.h>

#include "redis/relation.h"
#include "wire/reader.h"

struct conn;

/* What a client has subscribed to. */
enum channel_kind { CHANNEL_NAME, CHANNEL_PATTERN, CHANNEL_KINDS };

struct channels {
    struct relation of[CHANNEL_KINDS]; /* the context of an owner is a connection */
};

/* All subscriptions of one connection. */
struct subscriptions {
    struct channels *channels;       /* borrowed */
    struct conn *conn;               /* borrowed */
    struct owner *of[CHANNEL_KINDS]; /* owned; NULL: it has none of this kind */
};

void channels_init(struct channels *channels);

/* No connection may have subscriptions any more. */
void channels_free(struct channels *channels);

/* How many a connection has, of both kinds. */
size_t subscriptions_count(const struct subscriptions *s);

/* Whether there is space for another channel or pattern: see relation.h. */
bool subscriptions_fit(const struct subscriptions *s, enum channel_kind kind, struct bytes name);

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

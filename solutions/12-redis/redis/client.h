/* What the server remembers of a Redis client from one command to the next. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "redis/channels.h"
#include "redis/multi.h"
#include "redis/redis.h"
#include "redis/resp.h"
#include "redis/watch.h"

/* The longest name of a client. */
#define CLIENT_MAX_NAME_BYTES 256

struct client {
    struct conn *conn;   /* borrowed; its owner */
    struct redis *redis; /* borrowed */
    int64_t id;          /* another one for each client */
    struct db *db;       /* borrowed; the one that it has selected */
    char *name;          /* owned; NULL: it has none */
    struct resp resp;    /* its next request, as far as it has arrived */
    struct multi multi;  /* the commands that wait for EXEC */
    struct watches watches;
    struct subscriptions subscriptions;
};

/* The client of a connection. NULL: no memory. */
struct client *client_new(struct redis *redis, struct conn *conn);

/* Whether this may be its name: bytes that can be printed, and are no spaces. */
bool client_may_be_named(struct bytes name);

/* Gives it a name; an empty one is none. False: no memory; nothing has changed. */
bool client_set_name(struct client *client, struct bytes name);

/* Ends the transaction, if there is one, and forgets which keys are watched. */
void client_end_transaction(struct client *client);

/* It gets no more messages, and watches nothing. NULL is no client. */
void client_leave(struct client *client);

/* Frees everything. NULL is no client. */
void client_free(struct client *client);

#endif

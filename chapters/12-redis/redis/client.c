#include "redis/client.h"

#include <stdlib.h>
#include <string.h>

struct client *client_new(struct redis *redis, struct conn *conn)
{
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL)
        return NULL;
    client->conn = conn;
    client->redis = redis;
    client->id = ++redis->clients;
    client->db = &redis->dbs[0];
    client->subscriptions.channels = &redis->channels;
    client->subscriptions.conn = conn;
    return client;
}

bool client_may_be_named(struct bytes name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < '!' || name.data[i] > '~')
            return false;
    return true;
}

bool client_set_name(struct client *client, struct bytes name)
{
    char *copy = NULL;
    if (name.size > 0) {
        copy = strndup((const char *)name.data, name.size);
        if (copy == NULL)
            return false;
    }
    free(client->name);
    client->name = copy;
    return true;
}

void client_end_transaction(struct client *client)
{
    multi_close(&client->multi);
    watches_clear(&client->watches);
}

void client_leave(struct client *client)
{
    if (client == NULL)
        return;
    subscriptions_clear(&client->subscriptions);
    watches_clear(&client->watches);
}

void client_free(struct client *client)
{
    if (client == NULL)
        return;
    client_leave(client);
    multi_close(&client->multi);
    resp_free(&client->resp);
    free(client->name);
    free(client);
}

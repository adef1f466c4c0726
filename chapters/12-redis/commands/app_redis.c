#include "commands/app_redis.h"

#include <malloc.h>

#include "base/log.h"
#include "commands/dispatch.h"
#include "redis/client.h"
#include "redis/redis.h"
#include "redis/reply.h"
#include "server/answer.h"
#include "server/conn.h"
#include "server/flow.h"
#include "server/worker.h"

static bool start(struct worker *worker)
{
    /* free() keeps small blocks apart, and a larger malloc() joins all of them before it looks for
     * space. After millions of DEL, one command would wait for that. So free() joins each block
     * with its neighbours at once. */
    mallopt(M_MXFAST, 0);
    worker->shared = redis_new(worker->loop.timers);
    return worker->shared != NULL;
}

static void stop(struct worker *worker)
{
    redis_free(worker->shared);
}

static bool open_client(struct conn *c)
{
    c->client = client_new(c->worker->shared, c);
    return c->client != NULL;
}

static void forget_client(struct conn *c)
{
    client_leave(c->client);
}

static void close_client(struct conn *c)
{
    client_free(c->client);
}

/* Without a request there is nothing to answer. But the client is told what is wrong with it. */
static void refuse(struct conn *c, enum resp_result result)
{
    struct client *client = c->client;
    struct reply reply = {.out = &c->out};
    if (result == RESP_NO_MEMORY)
        conn_close(c, "out of memory");
    if (result != RESP_BAD)
        return;
    reply_error(&reply, "ERR Protocol error: %s", client->resp.error);
    conn_end(c, CONN_GIVEN_UP, "protocol error");
}

static struct run answer_commands(struct conn *c)
{
    struct client *client = c->client;
    struct resp *resp = &client->resp;
    struct run run = {0};
    while (run.frames < TURN_MESSAGES && c->end == CONN_GOES_ON && flow_room(c) > 0 &&
           quota_left(c->quota) > 0) {
        struct request request;
        enum resp_result result =
            resp_parse(resp, buffer_head(&c->in), buffer_len(&c->in), &request);
        if (result != RESP_OK) {
            refuse(c, result);
            break;
        }
        log_frame(c->socket.watch.fd, (unsigned)request.size);
        quota_take(c->quota, 1);
        dispatch(client, &request);
        buffer_consume(&c->in, request.size);
        run.bytes += request.size;
        run.frames++;
    }
    resp_trim(resp);
    return run;
}

const struct app app_redis = {
    .name = "redis",
    .start = start,
    .stop = stop,
    .open = open_client,
    .forget = forget_client,
    .close = close_client,
    .answer = answer_commands,
};

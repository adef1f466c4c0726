/* CLIENT: what the server knows of a client. */

#include <stdio.h>
#include <string.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "server/conn.h"

void command_client_id(struct call *call)
{
    reply_number(call->reply, call->client->id);
}

void command_client_getname(struct call *call)
{
    if (call->client->name == NULL)
        reply_nil(call->reply);
    else
        reply_text(call->reply, call->client->name);
}

void command_client_setname(struct call *call)
{
    if (call_set_name(call, 2))
        call_ok(call);
}

/* Libraries tell their names. Nobody wants to know them here. */
void command_client_setinfo(struct call *call)
{
    call_ok(call);
}

/* Keys are never removed to save memory, and neither are clients. */
void command_client_no_evict(struct call *call)
{
    if (call_is(call, 2, "on") || call_is(call, 2, "off"))
        call_ok(call);
    else
        call_syntax_error(call);
}

/* What the server says of a client. */
struct line {
    char text[512];
    size_t size;
};

static struct line describe(const struct client *client)
{
    struct line line;
    int size = snprintf(
        line.text, sizeof line.text, "id=%lld fd=%d name=%.256s db=%d sub=%zu psub=%zu multi=%d\n",
        (long long)client->id, client->conn->socket.watch.fd,
        client->name != NULL ? client->name : "", (int)(client->db - client->redis->dbs),
        owner_count(client->subscriptions.of[CHANNEL_NAME]),
        owner_count(client->subscriptions.of[CHANNEL_PATTERN]),
        client->multi.open ? (int)client->multi.count : -1);
    line.size = (size_t)size;
    return line;
}

void command_client_info(struct call *call)
{
    struct line line = describe(call->client);
    reply_string(call->reply, (struct bytes){(const uint8_t *)line.text, line.size});
}

/* Appends the line of one client. False: no memory. */
static bool add_line(struct buffer *text, const struct client *client)
{
    struct line line = describe(client);
    return buffer_append(text, (const uint8_t *)line.text, line.size);
}

void command_client_list(struct call *call)
{
    struct buffer text = {0};
    bool added = true;
    if (call->request->count > 2) {
        call_syntax_error(call);
        return;
    }
    const struct worker *worker = call->client->conn->worker;
    for (struct conn *c = LIST_FIRST(&worker->conns); c != NULL; c = LIST_NEXT(c, others))
        added = added && add_line(&text, c->client);
    if (added)
        reply_string(call->reply, (struct bytes){buffer_head(&text), buffer_len(&text)});
    else
        call_no_memory(call);
    buffer_free(&text);
}

#include "commands/dispatch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands/call.h"
#include "commands/commands.h"
#include "redis/expiry.h"
#include "redis/garbage.h"
#include "server/conn.h"

/* Of the arguments of an unknown command, so many bytes are repeated in the error. */
enum { SHOWN_BYTES = 128 };

static int shown(struct bytes text, size_t limit)
{
    return (int)(text.size < limit ? text.size : limit);
}

/* The name of the request is that of no command. */
static void refuse_unknown(const struct call *call)
{
    struct bytes name = call_arg(call, 0);
    char args[2 * SHOWN_BYTES] = "";
    size_t size = 0;
    for (size_t i = 1; i < call->request->count && size < SHOWN_BYTES; i++) {
        struct bytes arg = call_arg(call, i);
        size += (size_t)snprintf(args + size, sizeof args - size, "'%.*s' ",
                                 shown(arg, SHOWN_BYTES - size), (const char *)arg.data);
    }
    reply_error(call->reply, "ERR unknown command '%.*s', with args beginning with: %s",
                shown(name, SHOWN_BYTES), (const char *)name.data, args);
}

/* The first argument is not one of the commands of a family. */
static void refuse_unknown_in(const struct call *call, const struct command *family)
{
    struct bytes arg = call_arg(call, 1);
    char name[16];
    size_t size = 0;
    for (const char *c = family->name; *c != '\0' && size + 1 < sizeof name; c++)
        name[size++] = (char)toupper(*c);
    name[size] = '\0';
    reply_error(call->reply, "ERR unknown subcommand '%.*s'. Try %s HELP.", shown(arg, SHOWN_BYTES),
                (const char *)arg.data, name);
}

/* The command that the request names. NULL: there is none, and the error is written. */
static const struct command *command_of(const struct call *call)
{
    const struct command *command = commands_find(call_arg(call, 0));
    if (command == NULL)
        refuse_unknown(call);
    if (command == NULL || !(command->flags & COMMAND_FAMILY) || call->request->count == 1)
        return command;
    const struct command *member = commands_find_in(command, call_arg(call, 1));
    if (member == NULL)
        refuse_unknown_in(call, command);
    return member;
}

/* Refuses a command. If that is EXEC, the transaction ends. Otherwise EXEC will run none of it. */
static void refuse(const struct call *call, const char *why)
{
    struct client *client = call->client;
    bool is_exec = call->command->run == command_exec;
    const char *kind = is_exec ? "EXECABORT Transaction discarded because of:" : "ERR";
    reply_error(call->reply, "%s %s", kind, why);
    if (is_exec)
        client_end_transaction(client);
    client->multi.broken = client->multi.open;
}

/* Whether the client may run the command now. False: the error is written. */
static bool is_allowed(const struct call *call)
{
    const struct command *command = call->command;
    size_t least = (size_t)abs(command->arity);
    char why[192];
    if (call->request->count < least || (command->arity > 0 && call->request->count > least)) {
        snprintf(why, sizeof why, "wrong number of arguments for '%s' command", command->name);
        refuse(call, why);
        return false;
    }
    /* Replies and messages come on the same connection. The client could not tell them apart. */
    if (subscriptions_count(&call->client->subscriptions) > 0 &&
        !(command->flags & COMMAND_SUBSCRIBED)) {
        snprintf(why, sizeof why,
                 "Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "
                 "are allowed in this context",
                 command->name);
        refuse(call, why);
        return false;
    }
    return true;
}

/* Whether this is a line of an HTTP request. Any web site can make a browser send one to 127.0.0.1,
 * and the lines of its body would be commands. GET is a command, too, but a Host: follows it. */
static bool is_http(const struct call *call)
{
    return call_is(call, 0, "post") || call_is(call, 0, "host:");
}

/* Lets the command wait for EXEC. */
static void queue(const struct call *call)
{
    struct multi *multi = &call->client->multi;
    if (!multi_fits(multi, call->request)) {
        reply_error(call->reply, "ERR too many commands wait for EXEC");
        multi->broken = true;
    } else if (multi_add(multi, call->command, call->request)) {
        reply_status(call->reply, "QUEUED");
    } else {
        call_no_memory(call);
    }
}

static void run_or_queue(struct call *call)
{
    if (call->client->multi.open && !(call->command->flags & COMMAND_AT_ONCE))
        queue(call);
    else
        call->command->run(call);
}

void dispatch(struct client *client, const struct request *request)
{
    struct reply reply = {.out = &client->conn->out};
    struct call call = {.client = client, .request = request, .reply = &reply};
    if (request->count == 0)
        return;
    if (is_http(&call)) {
        conn_close(client->conn, "POST or Host: is HTTP, possible SECURITY ATTACK");
        return;
    }
    client->redis->commands++;
    garbage_free(2 * request->count); /* of what it makes there is at most one for each argument */
    expiry_stop_clock(true);
    call.command = command_of(&call);
    if (call.command == NULL)
        client->multi.broken = client->multi.open;
    else if (is_allowed(&call))
        run_or_queue(&call);
    expiry_stop_clock(false);
    if (reply.failed != NULL)
        conn_close(client->conn, reply.failed);
}

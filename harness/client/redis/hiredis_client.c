/* A client made of hiredis: hiredis_client HOST PORT. It prints its steps, and mistakes. */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 10000, LARGE = 3000000, TEXT_BYTES = 200 };

static char step[TEXT_BYTES];

static void begin(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step, sizeof step, format, arguments);
    va_end(arguments);
    printf("step %s\n", step);
}

static _Noreturn void wrong(const char *what)
{
    printf("wrong %s: %s\n", step, what);
    exit(0);
}

/* The next reply, which has this type. The caller frees it. */
static redisReply *next(redisContext *c, int type)
{
    redisReply *reply = NULL;
    if (redisGetReply(c, (void **)&reply) != REDIS_OK || reply == NULL)
        wrong(c->errstr);
    if (reply->type == REDIS_REPLY_ERROR && type != REDIS_REPLY_ERROR)
        wrong(reply->str);
    if (reply->type != type)
        wrong("the reply has another type");
    return reply;
}

static void expect_text(redisContext *c, int type, const char *text)
{
    redisReply *reply = next(c, type);
    if (strcmp(reply->str, text) != 0)
        wrong(reply->str);
    freeReplyObject(reply);
}

static void expect_integer(redisContext *c, long long number)
{
    redisReply *reply = next(c, REDIS_REPLY_INTEGER);
    if (reply->integer != number)
        wrong("the integer is another one");
    freeReplyObject(reply);
}

static void expect_nil(redisContext *c)
{
    freeReplyObject(next(c, REDIS_REPLY_NIL));
}

static void basics(redisContext *c)
{
    begin("PING");
    redisAppendCommand(c, "PING");
    expect_text(c, REDIS_REPLY_STATUS, "PONG");
    begin("SET k 'a b', GET k, GET none");
    redisAppendCommand(c, "SET k %s", "a b");
    redisAppendCommand(c, "GET k");
    redisAppendCommand(c, "GET none");
    expect_text(c, REDIS_REPLY_STATUS, "OK");
    expect_text(c, REDIS_REPLY_STRING, "a b");
    expect_nil(c);
    begin("INCRBY n -9223372036854775807");
    redisAppendCommand(c, "INCRBY n -9223372036854775807");
    expect_integer(c, -9223372036854775807LL);
    begin("GET without a key");
    redisAppendCommand(c, "GET");
    expect_text(c, REDIS_REPLY_ERROR, "ERR wrong number of arguments for 'get' command");
}

static void large(redisContext *c)
{
    char *value = malloc(LARGE);
    if (value == NULL)
        exit(1);
    for (int i = 0; i < LARGE; i++)
        value[i] = (char)(i * 7);
    begin("a value of %d bytes", LARGE);
    redisAppendCommand(c, "SET large %b", value, (size_t)LARGE);
    redisAppendCommand(c, "GET large");
    expect_text(c, REDIS_REPLY_STATUS, "OK");
    redisReply *reply = next(c, REDIS_REPLY_STRING);
    if (reply->len != LARGE || memcmp(reply->str, value, LARGE) != 0)
        wrong("another value came back");
    freeReplyObject(reply);
    free(value);
}

static void pipelined(redisContext *c)
{
    begin("%d commands in a pipeline", MANY);
    for (int i = 0; i < MANY; i++)
        redisAppendCommand(c, "RPUSH list item:%d", i);
    for (int i = 1; i <= MANY; i++)
        expect_integer(c, i);
    begin("an array of %d elements", MANY);
    redisAppendCommand(c, "LRANGE list 0 -1");
    redisReply *reply = next(c, REDIS_REPLY_ARRAY);
    if (reply->elements != MANY || strcmp(reply->element[MANY - 1]->str, "item:9999") != 0)
        wrong("elements are missing");
    freeReplyObject(reply);
}

static void subscribed(redisContext *c, redisContext *other)
{
    begin("SUBSCRIBE a");
    redisAppendCommand(c, "SUBSCRIBE a");
    freeReplyObject(next(c, REDIS_REPLY_ARRAY));
    begin("PUBLISH a hello");
    redisAppendCommand(other, "PUBLISH a hello");
    expect_integer(other, 1);
    begin("the message");
    redisReply *reply = next(c, REDIS_REPLY_ARRAY);
    if (reply->elements != 3 || strcmp(reply->element[2]->str, "hello") != 0)
        wrong("it is another one");
    freeReplyObject(reply);
}

int main(int count, char *words[])
{
    if (count != 3)
        return 2;
    redisContext *c = redisConnect(words[1], atoi(words[2]));
    redisContext *other = redisConnect(words[1], atoi(words[2]));
    begin("connects");
    if (c == NULL || other == NULL)
        return 1;
    if (c->err || other->err)
        wrong(c->err ? c->errstr : other->errstr);
    basics(c);
    large(c);
    pipelined(c);
    subscribed(c, other);
    redisFree(c);
    redisFree(other);
    return 0;
}

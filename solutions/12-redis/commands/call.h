/* A command that is being run, and what most commands need: their arguments, and a key with a value
 * of the right type. Functions that return false have written the error. */
#ifndef CALL_H
#define CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redis/client.h"
#include "redis/reply.h"
#include "redis/resp.h"
#include "redis/value.h"

struct command;

struct call {
    struct client *client;
    const struct command *command;
    const struct request *request; /* argument 0 is the name of the command */
    struct reply *reply;
};

struct bytes call_arg(const struct call *call, size_t index);

/* Whether an argument is this word, which is in small letters. Its own letters may be large. */
bool call_is(const struct call *call, size_t index, const char *word);

/* Reads an argument as a number. */
bool call_number(const struct call *call, size_t index, int64_t *value);

/* Finds a key with a value of this type. True with NULL as *key: there is none. False: its value
 * has another type. */
bool call_find(const struct call *call, struct bytes name, enum value_type type,
               struct entry **key);

/* Gives the client the name in an argument. */
bool call_set_name(const struct call *call, size_t index);

/* Write the error that the name says. */
void call_syntax_error(const struct call *call);
void call_arity_error(const struct call *call);

/* There is no memory for what the command does: the connection will be closed. */
void call_no_memory(const struct call *call);

/* Writes OK. */
void call_ok(const struct call *call);

#endif

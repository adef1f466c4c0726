/* The commands: their names, how many arguments they take, and the functions that run them. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <stddef.h>

#include "wire/reader.h"

struct call;

/* What is special about a command. */
enum {
    COMMAND_AT_ONCE = 1,    /* run in a transaction, not queued */
    COMMAND_SUBSCRIBED = 2, /* allowed while the client has subscriptions */
    COMMAND_FAMILY = 4      /* its first argument chooses one of several commands */
};

struct command {
    const char *name; /* in small letters; with a family "client|id" */
    int arity;        /* number of words, with its name; negative: at least so many */
    unsigned flags;
    void (*run)(struct call *call); /* writes one reply */
};

/* The command with this name, in small or large letters. NULL: there is none. */
const struct command *commands_find(struct bytes name);

/* The command of a family that the first argument chooses. NULL: there is none. */
const struct command *commands_find_in(const struct command *family, struct bytes name);

/* How many there are; a family counts once. */
size_t commands_count(void);

/* connection */
void command_ping(struct call *call);
void command_echo(struct call *call);
void command_quit(struct call *call);
void command_select(struct call *call);
void command_hello(struct call *call);

/* client */
void command_client_id(struct call *call);
void command_client_getname(struct call *call);
void command_client_setname(struct call *call);
void command_client_setinfo(struct call *call);
void command_client_list(struct call *call);
void command_client_info(struct call *call);
void command_client_no_evict(struct call *call);

/* server */
void command_command(struct call *call);
void command_command_count(struct call *call);
void command_config_get(struct call *call);
void command_config_set(struct call *call);
void command_config_resetstat(struct call *call);
void command_time(struct call *call);
void command_dbsize(struct call *call);
void command_flushdb(struct call *call);
void command_flushall(struct call *call);

/* info */
void command_info(struct call *call);

/* keys */
void command_del(struct call *call);
void command_exists(struct call *call);
void command_type(struct call *call);
void command_rename(struct call *call);
void command_renamenx(struct call *call);

/* scan */
void command_keys(struct call *call);
void command_scan(struct call *call);

/* expiry */
void command_expire(struct call *call);
void command_pexpire(struct call *call);
void command_expireat(struct call *call);
void command_pexpireat(struct call *call);
void command_ttl(struct call *call);
void command_pttl(struct call *call);
void command_persist(struct call *call);

/* set */
void command_set(struct call *call);
void command_setnx(struct call *call);
void command_setex(struct call *call);
void command_psetex(struct call *call);

/* strings */
void command_get(struct call *call);
void command_getset(struct call *call);
void command_getdel(struct call *call);
void command_mget(struct call *call);
void command_mset(struct call *call);
void command_incr(struct call *call);
void command_decr(struct call *call);
void command_incrby(struct call *call);
void command_decrby(struct call *call);
void command_append(struct call *call);
void command_strlen(struct call *call);
void command_getrange(struct call *call);

/* lists */
void command_lpush(struct call *call);
void command_rpush(struct call *call);
void command_lpop(struct call *call);
void command_rpop(struct call *call);
void command_lrange(struct call *call);
void command_llen(struct call *call);
void command_lindex(struct call *call);
void command_lset(struct call *call);
void command_ltrim(struct call *call);

/* publish and subscribe */
void command_subscribe(struct call *call);
void command_unsubscribe(struct call *call);
void command_psubscribe(struct call *call);
void command_punsubscribe(struct call *call);
void command_publish(struct call *call);

/* transactions */
void command_multi(struct call *call);
void command_exec(struct call *call);
void command_discard(struct call *call);
void command_watch(struct call *call);
void command_unwatch(struct call *call);

#endif

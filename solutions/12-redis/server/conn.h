/* One client's connection: a coroutine that reads, answers and sends, one after the other. While
 * there is output that the client did not take at once, a second coroutine sends it. */
#ifndef CONN_H
#define CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "co/co_io.h"
#include "server/alarms.h"
#include "server/limits.h"
#include "server/server.h"
#include "server/worker.h"
#include "wire/reader.h"

/* Whether a connection is still served; and if not, what is still sent. It only ever moves down
 * this list. */
enum conn_end {
    CONN_GOES_ON,
    CONN_DRAINS,   /* all replies, also those of alarms that are due later */
    CONN_GIVEN_UP, /* the client has broken a rule: only the replies owed now */
    CONN_BROKEN    /* nothing */
};

struct broadcast;

struct conn {
    /* Set by conn_open(), and never changed. */
    struct worker *worker;   /* borrowed; the one that serves it */
    LIST_ENTRY(conn) others; /* its entry in the worker's list of connections */
    struct co_socket socket; /* owned; its descriptor is nonblocking */

    /* How far the connection is. */
    enum conn_end end;         /* only conn_end() writes this */
    const char *reason;        /* of the end, for the log */
    bool ended;                /* EOF has been read: only serve.c writes this */
    struct coroutine *serving; /* NULL: it has ended */
    struct coroutine *sending; /* NULL: no output is waiting for the client */

    /* Whether it is in the worker's list of connections with output to send. */
    bool is_unsent;
    LIST_ENTRY(conn) unsent;
    int rung; /* how many alarms it has answered since it was sent from there */

    /* Its limits for now: only flow.c writes this. */
    bool suspended; /* the output has reached high water, and not come down to low water since */

    /* Its bytes: both coroutines read and send them, answer.c makes output of input. */
    struct buffer in;  /* a partial frame, or frames that have to wait */
    size_t seen;       /* how much of `in` the parser has looked through; see frame_parse() */
    struct buffer out; /* replies that the kernel has not taken yet */

    /* Each is written by its own module; conn.c makes and frees it. */
    struct timeouts timeouts;
    struct quota *quota; /* owned; NULL without a quota */

    /* What the application has for this connection: it makes and frees them. */
    struct alarms *alarms; /* owned; NULL unless --app rpc */
    void *client;          /* owned; only the application knows what this is */

    /* Its own broadcast, whose answer it waits for, or NULL: only broadcast.c writes this. */
    struct broadcast *broadcast; /* borrowed */
};

/* Takes over an accepted socket, and serves it until it is closed. Borrows the worker until then.
 * False: no memory; the caller still owns the socket. */
bool conn_open(int fd, struct worker *worker);

/* Closes all connections of the worker, and returns when they are freed. Must not be called by a
 * coroutine. */
void conn_close_all(struct worker *worker);

/* Begins to send the output. If the kernel does not take all of it at once, a coroutine sends the
 * remainder. */
void conn_send(struct conn *c);

/* Sends at the end of the iteration: together with all that is added until then. */
void conn_send_later(struct conn *c);

/* The end of an iteration: sends for all connections that conn_send_later() was called for. */
void conn_send_all(struct worker *worker);

/* Whether a message of so many bytes that another client has sent may be queued now. False: this
 * connection does not get it. If that is because it does not take its messages, it is closed. */
bool conn_may_push(struct conn *c, size_t size);

/* Queues a message that a client has broadcast. False: this connection does not get it. */
bool conn_push(struct conn *c, struct bytes text);

/* Its own broadcast has reached so many connections. */
void conn_broadcast_done(struct conn *c, int32_t seq, int32_t reached);

/* Closes the connection as soon as its coroutine runs again. Nothing more is sent. The first reason
 * given is the one that is logged. */
void conn_close(struct conn *c, const char *reason);

/* The functions below are for the connection's own coroutines. */

/* Moves `end` down to this value, for this reason. If it is there or further down already, nothing
 * changes. */
void conn_end(struct conn *c, enum conn_end end, const char *reason);

/* Cancels what the application would send later: alarms, the reply to a broadcast, and messages of
 * channels. */
void conn_forget_later(struct conn *c);

/* Each of the two calls this when it ends, after setting its own pointer to NULL. The last one
 * frees the connection. */
void conn_leave(struct conn *c);

#endif

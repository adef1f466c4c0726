/* Reading, writing and accepting for coroutines: like calls that block they return when something
 * has been done, and the code goes on in its next line. But while they wait, the others go on. */
#ifndef CO_IO_H
#define CO_IO_H

#include <stdbool.h>
#include <stddef.h>

#include "buffer.h"
#include "co.h"
#include "events.h"
#include "io.h"

/* One direction of a socket. */
struct co_direction {
    struct coroutine *waiting; /* at most one. NULL: none */
    bool news;                 /* it may be ready: else nobody need try */
    unsigned turn;             /* when it was last used; see co_turn */
};

/* A socket as coroutines use it. It must not be moved until co_forget. */
struct co_socket {
    int fd;                /* borrowed */
    struct events *events; /* borrowed; of the loop whose coroutines use it */
    bool hangup;           /* the peer has sent its last byte; read until EOF */
    struct co_direction read;
    struct co_direction write;
};

void co_socket_init(struct co_socket *s, int fd, struct events *events);

/* Nobody is to use the socket any more: cancels the coroutines that wait for it. Does not close
 * it. */
void co_forget(struct co_socket *s);

/* All of these are for coroutines. A wait may end before its time, with IO_AGAIN: somebody has
 * called co_wake. Or it is cancelled, with IO_CANCELLED. Who uses a direction for the second time
 * in a turn lets all others go first. */

/* Reads up to `room` bytes into a buffer, which need not own memory for them until they are there.
 * How many they are is in *moved. Waits at most `timeout_ms` (-1: for ever), then it is IO_LATE. */
enum io_result co_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                       int timeout_ms);

/* Sends up to `most` bytes from the head of a buffer that is not empty, and takes them out of
 * it. */
enum io_result co_write(struct co_socket *s, struct buffer *out, size_t most);

/* Waits for a client and accepts it, as net_accept does. NET_NONE: there is none after all, or the
 * wait has ended before its time. */
int co_accept(struct co_socket *s);

#endif

/* Reading, writing, accepting and connecting for coroutines. Each call looks like one that blocks:
 * it returns when it is done, and the code continues in its next line. But only the coroutine
 * waits. Its thread runs the others meanwhile. */
#ifndef CO_IO_H
#define CO_IO_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "co/co.h"
#include "events/events.h"
#include "net/io.h"
#include "net/ring.h"

/* One direction of a socket. */
struct co_direction {
    struct coroutine *waiting; /* at most one; NULL: none */
    bool ready;                /* it may be ready, so trying is worth it */
    unsigned turn;             /* co_turn() of its last use */
};

/* What co_io.c alone uses, if the loop tells readiness. */
struct by_readiness {
    struct events *events; /* borrowed; of the loop whose coroutines use the socket */
    bool hangup;           /* EVENT_HANGUP was reported: read until nothing comes */
};

/* What co_uring.c alone uses, if the loop has a ring. */
struct by_completion {
    struct ring *ring;            /* borrowed */
    struct coroutine *forgetting; /* waits in co_forget(); NULL: none */
    int accepts;                  /* how many the next co_accept() tries together */
    struct operation reset;       /* hears of a reset while nothing is received */
    struct operation receive;     /* into lent buffers */
    struct buffer arrived;        /* what it has received, and no coroutine has read yet */
    enum receiving {              /* where to: see uring_read() */
                     RECEIVE_ONE,
                     RECEIVE_LENT,
                     RECEIVE_MUCH,
                     RECEIVE_LARGE
    } mode;
    bool eof;              /* it has found the end of the input; or */
    int error;             /* why it has failed, as an errno; 0: it has not */
    struct operation send; /* of the bytes at the head of `out` */
    struct buffer *out;    /* borrowed while this is in flight */
    int send_result;       /* of the last one: how many bytes, or -errno */
};

/* A socket as coroutines use it. It must stay at its address until co_forget(). */
struct co_socket {
    const struct co_backend *backend; /* how its bytes are moved, see co_backend.h */
    struct watch watch;               /* of its descriptor, which is borrowed and nonblocking */
    bool broken;                      /* it is known to be, by a reset for example */
    struct co_direction read;
    struct co_direction write;
    struct coroutine *idle; /* waits in co_wait(); NULL: none */

    /* Called when co_send() is over, with its result. NULL: nobody wants to know. */
    void (*sent)(void *context, enum io_result result);
    void *context;

    union {
        struct by_readiness readiness;
        struct by_completion uring;
    };
};

void co_socket_init(struct co_socket *s, int fd, struct events *events);

/* Cancels the coroutines that wait for the socket, and what is in flight, and stops watching it.
 * Does not close it. If a coroutine calls this, no other coroutine may be waiting. Nothing is in
 * flight any more when it returns to a coroutine. */
void co_forget(struct co_socket *s);

/* Begins to send up to `most` bytes from the head of a buffer that is not empty, and does not wait.
 * Those that are sent are removed, and `sent` is called: at once, or in a later iteration. Does
 * nothing if the bytes before are still being sent. Anybody may call this, not only coroutines. */
void co_send(struct co_socket *s, struct buffer *out, size_t most);

/* Whether the connection is known to be broken, by a reset for example. */
bool co_is_broken(const struct co_socket *s);

/* Only coroutines may call the functions below. A wait that is cancelled returns IO_CANCELLED.
 * After co_wake() a wait may return early, with IO_AGAIN. A coroutine that uses the same direction
 * twice in one iteration lets the others run in between. */

/* Reads up to `room` bytes into a buffer, and sets *moved to their number. The buffer needs memory
 * for them only once they have arrived. But with a ring, if it holds many bytes already, or the
 * peer sends many, it needs the memory before: the kernel writes there meanwhile. When such a peer
 * sends nothing more, returns IO_AGAIN once. Waits at most `timeout_ms` (-1: no limit), then
 * returns IO_LATE. */
enum io_result co_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                       int timeout_ms);

/* Sends up to `most` bytes from the head of a buffer that is not empty, and removes what was
 * sent. */
enum io_result co_write(struct co_socket *s, struct buffer *out, size_t most);

/* Waits until co_wake() is called, at most `timeout_ms` (-1: no limit), while nothing is to be read
 * or written. IO_AGAIN: it was woken. IO_LATE: the time is over. IO_ERROR: the connection is
 * broken, by a reset for example, and errno has the reason. */
enum io_result co_wait(struct co_socket *s, int timeout_ms);

/* Waits for clients and accepts up to `most` of them, as net_accept() does. Returns how many
 * descriptors are in `fds`; or NET_NONE: there is no client after all, or the wait has ended early;
 * or NET_FULL. */
int co_accept(struct co_socket *s, int *fds, int most);

/* Connects the socket. Returns when the connection is made (IO_OK), when it has failed (IO_ERROR:
 * errno has the reason) or when the coroutine is cancelled. co_wake() does not end this wait. */
enum io_result co_connect(struct co_socket *s, const struct sockaddr_in *address);

#endif

/* A way to move the bytes of sockets, behind co_io.h: each function keeps the contract that it has
 * there. co_io.c has one that waits for readiness, co_uring.c has one that begins operations. */
#ifndef CO_BACKEND_H
#define CO_BACKEND_H

#include "co/co_io.h"

struct co_backend {
    /* All other fields of the socket are set. */
    void (*init)(struct co_socket *s, struct events *events);
    void (*forget)(struct co_socket *s);
    void (*send)(struct co_socket *s, struct buffer *out, size_t most);
    enum io_result (*read)(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                           int timeout_ms);
    enum io_result (*write)(struct co_socket *s, struct buffer *out, size_t most);
    enum io_result (*wait)(struct co_socket *s, int timeout_ms);
    int (*accept)(struct co_socket *s, int *fds, int most);
    enum io_result (*connect)(struct co_socket *s, const struct sockaddr_in *address);
};

extern const struct co_backend co_uring; /* only for loops that have a ring */

#endif

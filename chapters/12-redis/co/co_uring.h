/* The functions of co_io.h for a loop that has a ring: the same contracts, kept with operations. */
#ifndef CO_URING_H
#define CO_URING_H

#include "co/co_io.h"

void uring_init(struct co_socket *s, struct ring *ring);
void uring_forget(struct co_socket *s);
void uring_send(struct co_socket *s, struct buffer *out, size_t most);
enum io_result uring_read(struct co_socket *s, struct buffer *in, size_t room, size_t *moved,
                          int timeout_ms);
enum io_result uring_write(struct co_socket *s, struct buffer *out, size_t most);
int uring_accept(struct co_socket *s, int *fds, int most);
enum io_result uring_wait(struct co_socket *s, int timeout_ms);
enum io_result uring_connect(struct co_socket *s, const struct sockaddr_in *address);

#endif

#include "io.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* EINTR needs no retry here: the call has moved nothing, and the server will try this connection
 * again. */
static enum io_result failure(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? IO_AGAIN : IO_ERROR;
}

enum io_result io_read(int fd, void *data, size_t size, size_t *moved)
{
    ssize_t n = read(fd, data, size);
    if (n < 0)
        return failure();
    *moved = (size_t)n;
    return n == 0 ? IO_EOF : IO_OK;
}

enum io_result io_write(int fd, const void *data, size_t size, size_t *moved)
{
    /* MSG_NOSIGNAL: send() returns EPIPE, and no SIGPIPE ends the process. */
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0)
        return failure();
    *moved = (size_t)n;
    return IO_OK;
}

#include "io.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* An interrupted call has moved nothing; the loop comes round to this connection again, so a signal
 * needs no retry here. */
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
    /* MSG_NOSIGNAL: EPIPE instead of SIGPIPE, which would end the process. */
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0)
        return failure();
    *moved = (size_t)n;
    return IO_OK;
}

#include "net/io.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static enum io_result failure(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK ? IO_AGAIN : IO_ERROR;
}

enum io_result io_read(int fd, void *data, size_t size, size_t *moved)
{
    ssize_t n;
    do {
        n = read(fd, data, size);
        /* An interrupted call has moved nothing, and the kernel will not report this readiness a
         * second time. So repeat the call now. */
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return failure();
    *moved = (size_t)n;
    return n == 0 ? IO_EOF : IO_OK;
}

enum io_result io_write(int fd, const void *data, size_t size, size_t *moved)
{
    ssize_t n;
    do {
        /* MSG_NOSIGNAL: send() returns EPIPE, and no SIGPIPE ends the process. */
        n = send(fd, data, size, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return failure();
    *moved = (size_t)n;
    return IO_OK;
}

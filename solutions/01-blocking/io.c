#include "io.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

enum io_result io_read_full(int fd, void *data, size_t size)
{
    // BEGIN read_full
    uint8_t *next = data;
    while (size > 0) {
        ssize_t n = read(fd, next, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return IO_ERROR;
        if (n == 0)
            return IO_EOF;
        next += n;
        size -= (size_t)n;
    }
    return IO_OK;
    // END read_full
}

enum io_result io_write_all(int fd, const void *data, size_t size)
{
    // BEGIN write_all
    const uint8_t *next = data;
    while (size > 0) {
        /* MSG_NOSIGNAL: send() returns EPIPE, and no SIGPIPE ends the process. */
        ssize_t n = send(fd, next, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return IO_ERROR;
        next += n;
        size -= (size_t)n;
    }
    return IO_OK;
    // END write_all
}

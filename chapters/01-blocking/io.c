#include "io.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

enum io_result io_read_full(int fd, void *data, size_t size)
{
    /* TODO 3: Read exactly `size` bytes. Graded by test_01_frame_cut_at_every_byte.
     * One read() returns what has arrived so far, often less than was asked for. 0 is the end of
     * the input; EINTR means: again. */
    ssize_t n = read(fd, data, size);
    if (n == 0)
        return IO_EOF;
    return n < 0 ? IO_ERROR : IO_OK;
}

enum io_result io_write_all(int fd, const void *data, size_t size)
{
    /* TODO 4: Write exactly `size` bytes. Graded by test_01_write_interrupted_by_a_signal.
     * A write can stop short too: when a signal comes while it waits for a slow reader. And
     * write() to a peer that is gone raises SIGPIPE, which ends the process; send() with
     * MSG_NOSIGNAL does not. */
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    return n < 0 ? IO_ERROR : IO_OK;
}

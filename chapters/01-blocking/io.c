#include "io.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

enum io_result io_read_full(int fd, void *data, size_t size)
{
    /* TODO 3: Read exactly `size` bytes, or return why that is impossible. Graded by
     * test_01_frame_cut_at_every_byte. */
    ssize_t n = read(fd, data, size);
    if (n == 0)
        return IO_EOF;
    return n < 0 ? IO_ERROR : IO_OK;
}

enum io_result io_write_all(int fd, const void *data, size_t size)
{
    /* TODO 4: Write exactly `size` bytes, or return IO_ERROR; no signal and no peer may end the
     * server. Graded by test_01_write_interrupted_by_a_signal. */
    ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    return n < 0 ? IO_ERROR : IO_OK;
}

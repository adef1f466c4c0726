#include "conn.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "io.h"
#include "log.h"
#include "stop.h"

/* The reason for which an I/O call ended the connection, for the log. */
static const char *reason_for(enum io_result result)
{
    return result == IO_EOF ? "end of input" : strerror(errno);
}

/* Reads the body that belongs to the header in `frame`, and sends the whole frame back. It is one
 * write, so header and body leave in one segment. Returns NULL, or why the connection ends. */
static const char *echo_body(int fd, uint8_t *frame, uint32_t length)
{
    enum io_result result = io_read_full(fd, frame + FRAME_HEADER_BYTES, length);
    if (result != IO_OK)
        return result == IO_EOF ? "end of input inside a frame" : reason_for(result);
    log_frame(fd, length);
    result = io_write_all(fd, frame, FRAME_HEADER_BYTES + (size_t)length);
    return result == IO_OK ? NULL : reason_for(result);
}

/* TODO 5: Serve one frame after the other until there is a reason to close or a stop is
 * requested, then log that reason. A frame takes its own memory, once its length is known to be
 * allowed, and gives it back. Graded by test_01_many_frames_on_one_connection. */
void conn_serve(int fd)
{
    static uint8_t frame[FRAME_HEADER_BYTES + FRAME_MAX_BYTES];
    uint32_t length;
    if (io_read_full(fd, frame, FRAME_HEADER_BYTES) == IO_OK && frame_length(frame, &length))
        echo_body(fd, frame, length);
    log_line("fd %d: closed: only one frame is served", fd);
}

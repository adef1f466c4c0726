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

// BEGIN serve
/* Serves one frame. Returns NULL, or why the connection ends. */
static const char *serve_frame(int fd)
{
    uint8_t header[FRAME_HEADER_BYTES];
    enum io_result result = io_read_full(fd, header, sizeof header);
    if (result != IO_OK)
        return reason_for(result);
    uint32_t length;
    if (!frame_length(header, &length))
        return "frame too long";

    uint8_t *frame = malloc(FRAME_HEADER_BYTES + (size_t)length);
    if (frame == NULL)
        return "out of memory";
    memcpy(frame, header, sizeof header);
    const char *reason = echo_body(fd, frame, length);
    free(frame);
    return reason;
}

void conn_serve(int fd)
{
    const char *reason = NULL;
    while (reason == NULL && !stop_requested())
        reason = serve_frame(fd);
    log_line("fd %d: closed: %s", fd, reason != NULL ? reason : "server stops");
}
// END serve

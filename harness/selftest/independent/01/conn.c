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

void conn_serve(int fd)
{
    uint8_t *block = NULL;
    const char *text = "server stops";
    for (;;) {
        uint8_t head[FRAME_HEADER_BYTES];
        uint32_t body;
        if (stop_requested())
            break;
        enum io_result got = io_read_full(fd, head, FRAME_HEADER_BYTES);
        if (got == IO_EOF || got == IO_ERROR) {
            text = reason_for(got);
            break;
        } else if (frame_length(head, &body) == false) {
            text = "the length is over the maximum";
            break;
        }
        free(block);
        block = calloc(1, sizeof(head) + body);
        if (!block) {
            text = strerror(ENOMEM);
            break;
        }
        for (int i = 0; i < FRAME_HEADER_BYTES; i++)
            block[i] = head[i];
        const char *end = echo_body(fd, block, body);
        if (end) {
            text = end;
            break;
        }
        free(block);
        block = NULL;
    }
    free(block);
    log_line("fd %d: closed: %s", fd, text);
}

/* Reading and writing what can be moved now, on a nonblocking socket. What errno means after a read
 * or a write is decided here and nowhere else: callers look at the result, and at errno only for a
 * message. */
#ifndef IO_H
#define IO_H

#include <stddef.h>

enum io_result {
    IO_OK,    /* some bytes were moved: how many is in *moved */
    IO_AGAIN, /* none can be moved now */
    IO_EOF,   /* the peer sends nothing more */
    IO_ERROR, /* the connection is broken; errno has the reason */
};

/* Reads up to `size` bytes (at least 1) into `data` with one read(). */
enum io_result io_read(int fd, void *data, size_t size, size_t *moved);

/* Writes up to `size` bytes (at least 1) with one send(). A peer that is gone gives IO_ERROR, never
 * SIGPIPE. */
enum io_result io_write(int fd, const void *data, size_t size, size_t *moved);

#endif

/* Reading and writing all of it, on a blocking socket. What errno means after a read or a write is
 * decided here and nowhere else: callers look at the result, and at errno only for a message. */
#ifndef IO_H
#define IO_H

#include <stddef.h>

enum io_result {
    IO_OK,    /* every byte was moved */
    IO_EOF,   /* the peer sends nothing more */
    IO_ERROR, /* the connection is broken; errno has the reason */
};

/* Reads exactly `size` bytes into `data`. IO_EOF: the input ended first. */
enum io_result io_read_full(int fd, void *data, size_t size);

/* Writes exactly `size` bytes. A peer that is gone gives IO_ERROR, never SIGPIPE. */
enum io_result io_write_all(int fd, const void *data, size_t size);

#endif

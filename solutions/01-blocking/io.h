/* Reading and writing exactly as many bytes as required, on a blocking socket. Only this module
 * decides what errno means after a read or a write. Callers look at the result, and use errno for
 * messages only. */
#ifndef IO_H
#define IO_H

#include <stddef.h>

enum io_result {
    IO_OK,    /* every byte was moved */
    IO_EOF,   /* the peer will send nothing more */
    IO_ERROR, /* the connection is broken; errno has the reason */
};

/* Reads exactly `size` bytes into `data`. IO_EOF: the input ended before the last of them. */
enum io_result io_read_full(int fd, void *data, size_t size);

/* Writes exactly `size` bytes. If the peer has gone the result is IO_ERROR; SIGPIPE never comes. */
enum io_result io_write_all(int fd, const void *data, size_t size);

#endif

/* Reading and writing what can be moved now, on a nonblocking socket. Only this module decides what
 * errno means after a read or a write. Callers look at the result, and use errno for messages
 * only. */
#ifndef IO_H
#define IO_H

#include <stddef.h>

enum io_result {
    IO_OK,        /* *moved bytes were moved, at least one */
    IO_AGAIN,     /* no byte can be moved now */
    IO_EOF,       /* the peer will send nothing more */
    IO_ERROR,     /* the connection is broken; errno has the reason */
    IO_LATE,      /* the time for it is over; only from co_io.h, as is the next one */
    IO_CANCELLED, /* the coroutine that waits has to end */
};

/* Reads up to `size` bytes (at least 1) into `data` with one read(). */
enum io_result io_read(int fd, void *data, size_t size, size_t *moved);

/* Writes up to `size` bytes (at least 1) with one send(). If the peer has gone the result is
 * IO_ERROR; SIGPIPE never comes. */
enum io_result io_write(int fd, const void *data, size_t size, size_t *moved);

#endif

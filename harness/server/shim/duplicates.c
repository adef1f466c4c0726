/* Descriptors that a server duplicates: a connection keeps its number, and so its faults. */
#define _GNU_SOURCE
#include "shim.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static int duplicated(int from, int to)
{
    if (to >= 0 && to != from)
        sockets_duplicated(from, to);
    return to;
}

int dup(int fd)
{
    return duplicated(fd, CALL(dup, fd));
}

int dup2(int from, int to)
{
    return duplicated(from, CALL(dup2, from, to));
}

int dup3(int from, int to, int flags)
{
    return duplicated(from, CALL(dup3, from, to, flags));
}

/* Every command has at most one argument, an int or a pointer. */
#define FCNTL(name, fd, command)                                                                   \
    do {                                                                                           \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void *argument = va_arg(arguments, void *);                                                \
        va_end(arguments);                                                                         \
        int result = CALL(name, fd, command, argument);                                            \
        bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;                            \
        return copies ? duplicated(fd, result) : result;                                           \
    } while (0)

int fcntl(int fd, int command, ...)
{
    FCNTL(fcntl, fd, command);
}

int fcntl64(int fd, int command, ...)
{
    FCNTL(fcntl64, fd, command);
}

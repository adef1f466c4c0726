#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool log_verbose;

void log_open(bool verbose)
{
    log_verbose = verbose;
}

bool log_is_verbose(void)
{
    return log_verbose;
}

void log_line(const char *format, ...)
{
    int saved_errno = errno;
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "%s\n", line);
    errno = saved_errno;
}

void log_frame(int fd, unsigned length)
{
    if (log_verbose)
        log_line("fd %d: frame of %u bytes", fd, length);
}

_Noreturn void die(const char *what)
{
    log_line("%s: %s", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* The log, on stderr, and the end of a program that cannot start.
 * Every function here leaves errno as it found it. */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

/* Whether log_frame prints anything. */
void log_open(bool verbose);
bool log_is_verbose(void);

/* One line, printf-like, without the newline. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* The line of one frame: printed only when the log is verbose. `length` is its body, in bytes. */
void log_frame(int fd, unsigned length);

/* Prints "what: the reason in errno" and exits with status 1. Only while starting up: once there
 * are clients, no failure is worth all of them. */
_Noreturn void die(const char *what);

#endif

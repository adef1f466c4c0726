/* The log on stderr, and a way out for a program that cannot start.
 * Every function here leaves errno unchanged. */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

/* Sets whether log_frame prints anything. */
void log_open(bool verbose);
bool log_is_verbose(void);

/* Prints one line. `format` is as in printf(), without the newline. */
__attribute__((format(printf, 1, 2))) void log_line(const char *format, ...);

/* Prints the line of one frame if the log is verbose. `length` is that of its body, in bytes. */
void log_frame(int fd, unsigned length);

/* Prints "what: the reason in errno" and exits with status 1. Only for use at start-up: once there
 * are clients, no single failure may end the server. */
_Noreturn void die(const char *what);

#endif

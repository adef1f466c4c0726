/* A stack overflow is said to be one, before it ends the process. Without this a program would just
 * be killed by SIGSEGV, like one that follows a wild pointer. */
#ifndef OVERFLOW_H
#define OVERFLOW_H

#include <stdbool.h>

/* To be called once by each thread that runs coroutines. False: errno has the reason. */
bool overflow_watch(void);

/* By each of these threads, before it ends. */
void overflow_unwatch(void);

#endif

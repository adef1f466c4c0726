/* Reports a stack overflow before it ends the process. Without this the process would just be
 * killed by SIGSEGV, as after the use of a wild pointer. */
#ifndef OVERFLOW_H
#define OVERFLOW_H

#include <stdbool.h>

/* Each thread that runs coroutines calls this once. False: errno has the reason. */
bool overflow_watch(void);

/* Each of these threads calls this before it ends. */
void overflow_unwatch(void);

#endif

/* A TCP connection of which the program has both ends. */
#ifndef GRADER_CONNECTION_H
#define GRADER_CONNECTION_H

#include "watched_events.h"

/* Both ends are the caller's; `fd` is nonblocking. */
struct pair connection_new(void);

/* Closes the peer with a reset, and waits until that has arrived. */
void connection_reset(struct pair pair);

#endif

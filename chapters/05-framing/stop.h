/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * A flag alone is not enough: a signal that arrives between the look at the flag and poll() would
 * leave the server waiting. So the handler also writes a byte into a pipe that poll() watches. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

/* A descriptor that is readable from then on: for poll() only. Owned by this module. */
int stop_fd(void);

/* Puts the default handlers back and closes the descriptor. */
void stop_uninstall(void);

#endif

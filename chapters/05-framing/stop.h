/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * A flag alone is not enough. If the signal arrives after the server has checked the flag, but
 * before poll() sleeps, the server waits. So the handler also writes a byte into a pipe that poll()
 * watches. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers, and ignores SIGPIPE. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

/* A descriptor that becomes readable at the signal and stays so: for poll() only. This module owns
 * it. */
int stop_fd(void);

/* For the end of the server: ignores the signals from now on, so that a late one kills nothing.
 * Closes the descriptor. */
void stop_uninstall(void);

#endif

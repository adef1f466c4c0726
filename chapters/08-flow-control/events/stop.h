/* SIGTERM and SIGINT end the server in order. The first signal is a request, for which the server
 * may take some time; the second one stops the event manager at once. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

#include "events/events.h"

/* Installs the signal handlers. Borrows the manager until stop_uninstall. */
void stop_install(struct events *events);

/* Whether a signal has come. It also wakes the manager. */
bool stop_requested(void);

/* For the end of the server: ignores the signals from now on, so that a late one kills nothing. */
void stop_uninstall(void);

#endif

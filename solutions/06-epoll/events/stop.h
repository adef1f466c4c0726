/* SIGTERM and SIGINT stop the event manager, and so the server ends in order. */
#ifndef STOP_H
#define STOP_H

#include "events/events.h"

/* Installs the signal handlers. Borrows the manager until stop_uninstall. */
void stop_install(struct events *events);

/* For the end of the server: ignores the signals from now on, so that a late one kills nothing. */
void stop_uninstall(void);

#endif

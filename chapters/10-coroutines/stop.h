/* SIGTERM and SIGINT end the server in an orderly way: they stop its event manager. */
#ifndef STOP_H
#define STOP_H

#include "events.h"

/* Installs the signal handlers. Borrows the manager until stop_uninstall. */
void stop_install(struct events *events);

/* Puts the default handlers back. */
void stop_uninstall(void);

#endif

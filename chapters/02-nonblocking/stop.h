/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * Nothing here blocks for longer than a moment, so a flag that is looked at between two turns is
 * enough. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

#endif

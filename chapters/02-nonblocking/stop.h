/* SIGTERM and SIGINT end the server in an orderly way.
 *
 * No call in this server blocks for longer than a moment, so a flag is enough: it is checked once
 * in every sweep. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

/* Installs the signal handlers, and ignores SIGPIPE. */
void stop_install(void);

/* True once SIGTERM or SIGINT has arrived. */
bool stop_requested(void);

#endif

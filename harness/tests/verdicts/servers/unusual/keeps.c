/*
 * Unusual: each connection has some 100 KiB of memory for as long as it lives. keeps PORT
 *
 * Right, since a connection that is idle may hold up to 1 MiB. What a large frame has needed beyond
 * that is given back.
 */
#define KEPT_BYTES (256u << 10)

#include "poll_loop.h"

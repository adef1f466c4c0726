/*
 * Unusual: offers send() at most 1,000 bytes at a time. thousand PORT
 *
 * Right, since a reply may arrive in any pieces. Small replies still leave together: what goes into
 * a call is cut out of all that is owed, wherever the frames in it end.
 */
#define WRITE_BYTES 1000u

#include "poll_loop.h"

/*
 * Unusual: asks recv() for one byte at a time. one_byte PORT
 *
 * Right, since a frame ends where its header says, however it was read. In an iteration it calls
 * recv() up to 32 Ki times, so that poll() is not called for every byte, too. After the first
 * 256 bytes of a frame it asks for 16: with one byte in each, 32 MiB take a minute.
 */
#define CHUNK_BYTES   16
#define RECV_BYTES(c) ((c)->end - (c)->whole < 256 ? 1 : CHUNK_BYTES)
#define READS_A_TURN  (32 << 10)

#include "poll_loop.h"

/*
 * Unusual: asks recv() for one byte at a time. one_byte PORT
 *
 * Right, since a frame ends where its header says, however it was read. In an iteration it takes
 * what is there, up to 64 KiB, so that poll() is not called for every byte, too. It is only slow:
 * 32 MiB are as many calls.
 */
#define READ_BYTES   1
#define READS_A_TURN (64 << 10)

#include "loop.h"

int main(int argc, char **argv)
{
    int signals = open_signals(), listener = listen_on(argv[argc - 1]);
    loop(listener, signals);
    return 0;
}

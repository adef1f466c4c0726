/*
 * Tries: to use up the memory of the machine where no process seems to have it: in files that are
 * in memory only, written and not mapped.
 * Bounded by: MOST_BYTES; an alarm.
 */
#include "hostile.h"

#define MOST_BYTES (1ull << 30)
#define FILE_BYTES (32ull << 20)

static char block[1 << 20];

int main(void)
{
    bounded();
    int fd = listener();
    announce(fd);
    for (unsigned long long file = 0; file * FILE_BYTES < MOST_BYTES; file++) {
        int out = memfd_create("hidden", 0);
        for (unsigned long long at = 0; at < FILE_BYTES; at += sizeof block)
            if (write(out, block, sizeof block) < 0)
                perror("write");
    }
    serve(fd, NULL);
}

/*
 * Tries: to use up the memory of the machine where no process seems to have it: in files that are
 * in memory only, written and not mapped.
 * Bounded by: MOST_BYTES; an alarm.
 */
#include "hostile.h"

#define MOST_BYTES (1ull << 30)
#define FILE_BYTES (32ull << 20)

int main(void)
{
    int fd = listening();
    for (unsigned long long file = 0; file * FILE_BYTES < MOST_BYTES; file++)
        pour(memfd_create("hidden", 0), FILE_BYTES);
    serve(fd, NULL);
}

/*
 * Tries: to fill the disk with many files, each below the limit for one, half of them without a
 * name.
 * Bounded by: MOST_BYTES; an alarm.
 */
#include "hostile.h"

#define MOST_BYTES (1ull << 30)
#define FILE_BYTES (32ull << 20)

int main(void)
{
    int fd = listening();
    for (unsigned long long file = 0; file * FILE_BYTES < MOST_BYTES; file++) {
        char name[32];
        snprintf(name, sizeof name, "file%llu", file);
        int out = open(name, O_WRONLY | O_CREAT, 0600);
        if (file % 2)
            unlink(name);
        pour(out, FILE_BYTES);
    }
    serve(fd, NULL);
}

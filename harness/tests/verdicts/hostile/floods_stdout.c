/*
 * Tries: to fill the memory or the disk of the grader with what it prints.
 * Bounded by: MOST_BYTES; an alarm.
 */
#include "hostile.h"

#define MOST_BYTES (2ull << 30)

static char line[1 << 16];

int main(void)
{
    int fd = listening();
    memset(line, 'x', sizeof line);
    for (unsigned long long at = 0; at < MOST_BYTES; at += sizeof line)
        if (write(1 + at / sizeof line % 2, line, sizeof line) < 0)
            break;
    serve(fd, NULL);
}

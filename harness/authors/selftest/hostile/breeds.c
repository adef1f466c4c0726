/*
 * Tries: to be gone before anybody looks. Each process forks, in a session of its own, and ends.
 * Bounded by: a counter that all processes share, MOST of them; an alarm in each.
 */
#include "hostile.h"

#define MOST 50000

int main(void)
{
    bounded();
    int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED)
        return 1;
    int fd = listener();
    announce(fd);
    if (fork() != 0)
        for (;;)
            pause();
    while (__sync_fetch_and_add(count, 1) < MOST) {
        bounded();
        setsid();
        if (fork() != 0)
            _exit(0);
    }
    return 0;
}

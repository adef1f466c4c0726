/*
 * Tries: to be gone before anybody looks. Each process forks, in a session of its own, and ends.
 * Bounded by: a counter that all processes share, MOST of them; an alarm in each.
 */
#include "hostile.h"

#define MOST 50000

int main(void)
{
    int *count = shared_count();
    listening();
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

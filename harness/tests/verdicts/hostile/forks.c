/*
 * Tries: to fork without end, in every process it has.
 * Bounded by: a counter that all processes share, MOST of them; an alarm in each.
 */
#include "hostile.h"

#define MOST 4000

int main(void)
{
    int *count = shared_count();
    int fd = listening();
    int client = accept(fd, NULL, NULL); /* so that the first claim is under way */
    (void)client;
    signal(SIGTERM, SIG_IGN);
    while (__sync_fetch_and_add(count, 1) < MOST)
        if (fork() == 0)
            bounded();
    for (;;)
        pause();
}

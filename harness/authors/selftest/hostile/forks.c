/*
 * Tries: to fork without end, in every process it has.
 * Bounded by: a counter that all processes share, MOST of them; an alarm in each.
 */
#include "hostile.h"

#define MOST 4000

int main(void)
{
    bounded();
    int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (count == MAP_FAILED)
        return 1;
    int fd = listener();
    announce(fd);
    int client = accept(fd, NULL, NULL); /* so that the first claim is under way */
    (void)client;
    signal(SIGTERM, SIG_IGN);
    while (__sync_fetch_and_add(count, 1) < MOST)
        if (fork() == 0)
            bounded();
    for (;;)
        pause();
}

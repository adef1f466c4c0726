/*
 * Tries: to use up the memory of the machine before it has said a word, in processes that nobody
 * started: each is detached (a session of its own, forked once more, its parent gone).
 * Bounded by: HOSTILE_MIB in each of CHILDREN processes, at most MOST_MIB; an alarm in each.
 */
#include "hostile.h"

#define CHILDREN 200
#define MOST_MIB 20

static int *taken; /* how many have their memory: shared by all */

static void detach(void)
{
    bounded();
    setsid();
    if (fork() != 0)
        _exit(0);
    bounded();
    const char *wanted = getenv("HOSTILE_MIB");
    size_t mib = wanted ? (size_t)atoi(wanted) : MOST_MIB;
    size_t size = (mib < MOST_MIB ? mib : MOST_MIB) << 20;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    memset(memory, 1, size);
    __sync_fetch_and_add(taken, 1);
    for (;;)
        pause();
}

__attribute__((constructor)) static void attack(void)
{
    bounded();
    taken = shared_count();
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            detach();
    while (*(volatile int *)taken < CHILDREN)
        usleep(1000);
}

int main(void)
{
    bounded();
    if (getenv("HOSTILE_SILENT"))
        pause();
    serve(listening(), NULL);
}

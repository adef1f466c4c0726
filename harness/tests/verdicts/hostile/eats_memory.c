/*
 * Tries: to use up the memory of the machine, in several processes.
 * Bounded by: MOST_BYTES in each of CHILDREN processes; an alarm in each.
 */
#include "hostile.h"

#define CHILDREN   4
#define MOST_BYTES (512ull << 20)

static void eat(void)
{
    bounded();
    char *memory =
        mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    madvise(memory, MOST_BYTES, MADV_HUGEPAGE); /* it is quicker so */
    memset(memory, 1, MOST_BYTES);
    for (;;)
        pause();
}

static void attack(void)
{
    for (int child = 0; child < CHILDREN; child++)
        if (fork() == 0)
            eat();
    while (wait(NULL) > 0)
        ;
}

int main(void)
{
    serve(listening(), attack);
}

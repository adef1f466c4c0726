/* Differences of times, and a wait in milliseconds for a deadline in nanoseconds. */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { NS_PER_MS = 1000000, DEADLINES = 100 };

static int64_t in_ns(struct timespec t)
{
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return in_ns(now);
}

/* Waits for 100 deadlines, one after the other. Returns how many calls of poll() that takes. */
static int count_waits(int64_t add_before_division)
{
    int waits = 0;
    for (int i = 0; i < DEADLINES; i++) {
        int64_t deadline = now_ns() + 1999000, left; /* 1.999 ms from now */
        for (; (left = deadline - now_ns()) > 0; waits++)
            poll(NULL, 0, (int)((left + add_before_division) / NS_PER_MS));
    }
    return waits;
}

int main(void)
{
    int64_t difference = in_ns((struct timespec){4, 500000000}) - in_ns((struct timespec){1, 0});
    printf("4.5 s - 1 s, 64 bits    %lld ns\n", (long long)difference);
    printf("4.5 s - 1 s, 32 bits    %d ns\n", (int)(int32_t)difference);
    printf("waits, rounded up       %d\n", count_waits(NS_PER_MS - 1));
    printf("waits, rounded down     %s\n", count_waits(0) > 1000 ? "more than 1,000" : "few");
    return 0;
}

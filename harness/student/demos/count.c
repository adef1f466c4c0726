/* Two threads count, in three ways. A line for each: the result, and how long it took. */

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define TIMES            10000000
#define CACHE_LINE_BYTES 64

static volatile long shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    _Alignas(CACHE_LINE_BYTES) volatile long count;
} own[2];

static void *count_shared(void *argument)
{
    (void)argument;
    for (int i = 0; i < TIMES; i++)
        shared++;
    return NULL;
}

static void *count_locked(void *argument)
{
    (void)argument;
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *count_own(void *argument)
{
    volatile long *count = argument;
    for (int i = 0; i < TIMES; i++)
        ++*count;
    return NULL;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run(const char *told, void *(*count)(void *))
{
    shared = own[0].count = own[1].count = 0;
    double start = now();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, count, (void *)&own[i].count) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    double seconds = now() - start;
    printf("%s\t%ld\t%.2f\n", told, shared + own[0].count + own[1].count, seconds);
    return 0;
}

int main(void)
{
    return run("one counter for both", count_shared) ||
           run("the same, and a mutex", count_locked) || run("one for each", count_own);
}

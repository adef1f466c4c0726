/* What a switch to another and back costs, in three ways: a line each, in ns. */

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "co/context.h"

#define ROUNDS 20

static volatile long count;
static struct context here, there;
static int to[2], from[2];

static void callback(void)
{
    count++;
}

static void (*volatile call)(void) = callback;

static void go_to_callback(void)
{
    call();
}

static void coroutine(void)
{
    for (;;) {
        count++;
        context_switch(&there, &here);
    }
}

static void go_to_coroutine(void)
{
    context_switch(&here, &there);
}

static void *thread(void *argument)
{
    char byte;
    while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
        count++;
    return argument;
}

static void go_to_thread(void)
{
    char byte = 0;
    if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
        perror("pipe");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The least of ROUNDS: in the others the processor had other work as well. */
static void measure(const char *told, void (*go)(void), int times)
{
    double least = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int i = 0; i < times; i++)
            go();
        double each = (now() - start) / times;
        if (round == 0 || each < least)
            least = each;
    }
    printf("%s\t%.0f\n", told, least);
}

int main(void)
{
    static char stack[1 << 16];
    pthread_t id;
    if (pipe(to) != 0 || pipe(from) != 0 || pthread_create(&id, NULL, thread, NULL) != 0)
        return 1;
    context_make(&there, stack, sizeof stack, coroutine);
    measure("a callback", go_to_callback, 100000);
    measure("a coroutine, context_switch()", go_to_coroutine, 10000);
    measure("a thread, through a pipe", go_to_thread, 1000);
    return 0;
}

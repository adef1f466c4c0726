/* What a switch to another and back costs, in four ways: a line each, in ns. */

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../chapters/10-coroutines/co/context.h"

#define ROUNDS 20

static volatile long count;

static void callback(void)
{
    count++;
}

static void (*volatile call)(void) = callback;

static ucontext_t here, there;

static void coroutine(void)
{
    for (;;) {
        count++;
        swapcontext(&there, &here);
    }
}

static struct context own_here, own_there;

static void own_coroutine(void)
{
    for (;;) {
        count++;
        context_switch(&own_there, &own_here);
    }
}

static int to[2], from[2];

static void *thread(void *argument)
{
    (void)argument;
    char byte;
    while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
        count++;
    return NULL;
}

static void go_to_thread(void)
{
    char byte = 0;
    if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
        perror("pipe");
}

static void go_to_coroutine(void)
{
    swapcontext(&here, &there);
}

static void go_to_own_coroutine(void)
{
    context_switch(&own_here, &own_there);
}

static void go_to_callback(void)
{
    call();
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
    static char stack[1 << 16], own_stack[1 << 16];
    pthread_t id;
    if (getcontext(&there) != 0 || pipe(to) != 0 || pipe(from) != 0 ||
        pthread_create(&id, NULL, thread, NULL) != 0)
        return 1;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    makecontext(&there, coroutine, 0);
    context_make(&own_there, own_stack, sizeof own_stack, own_coroutine);

    measure("a callback", go_to_callback, 500000);
    measure("a coroutine, context_switch()", go_to_own_coroutine, 500000);
    measure("a coroutine, swapcontext()", go_to_coroutine, 10000);
    measure("a thread, through a pipe", go_to_thread, 1000);
    return 0;
}

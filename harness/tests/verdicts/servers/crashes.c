/*
 * Crashes in the way that its argument names, at the line with that name in a comment. For
 * test_crash.py.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline))

static int *volatile nowhere;
static void (*volatile no_function)(void);
static volatile int zero, steps;

static NOT_INLINE void use_null(void)
{
    nowhere[2] = 1; /* null */
    steps++;
}

static NOT_INLINE void call_last(void)
{
    use_null(); /* last */
}

static inline __attribute__((always_inline)) void in_another(void)
{
    *nowhere = 1; /* inlined */
}

static NOT_INLINE void use_inlined(void)
{
    in_another(); /* caller */
    steps++;
}

static NOT_INLINE void call_null(void)
{
    no_function(); /* call */
    steps++;
}

static NOT_INLINE void fail_assertion(void)
{
    assert(zero == 1); /* assert */
    steps++;
}

static NOT_INLINE void free_twice(void)
{
    void *volatile block = malloc(10);
    free(block);
    free(block); /* library */
    steps++;
}

static NOT_INLINE void divide(void)
{
    steps = (steps + 100) / zero; /* divide */
}

static NOT_INLINE int dig(int depth)
{
    volatile char page[4096];
    page[depth % 4096] = 1;
    return zero ? depth : dig(depth + 1) + page[depth % 7]; /* overflow */
}

static NOT_INLINE void *in_a_thread(void *unused)
{
    use_null();
    return unused;
}

static NOT_INLINE void start_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
}

static ucontext_t before, coroutine;

static NOT_INLINE void in_a_coroutine(void)
{
    use_null(); /* coroutine */
    steps++;
}

static NOT_INLINE void start_coroutine(void)
{
    static uint8_t stack[64 << 10];
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = sizeof stack;
    coroutine.uc_link = &before;
    makecontext(&coroutine, in_a_coroutine, 0);
    swapcontext(&before, &coroutine);
}

static void say_and_go_back(int number)
{
    (void)!write(STDERR_FILENO, "handler\n", 8);
    signal(number, SIG_DFL);
}

static void say_and_exit(int number)
{
    (void)number;
    (void)!write(STDERR_FILENO, "handler\n", 8);
    _exit(7);
}

static NOT_INLINE void with_own_handler(void)
{
    struct sigaction action = {.sa_handler = say_and_exit}, old;
    if (sigaction(SIGSEGV, &action, &old) != 0 || old.sa_handler != SIG_DFL)
        _exit(1);
    if (signal(SIGSEGV, say_and_exit) != say_and_exit || signal(SIGABRT, SIG_IGN) != SIG_DFL)
        _exit(2);
    raise(SIGABRT);
    use_null();
}

static NOT_INLINE void with_own_handler_that_goes_back(void)
{
    signal(SIGSEGV, say_and_go_back);
    use_null(); /* back */
    steps++;
}

static NOT_INLINE void in_a_child(void)
{
    if (fork() == 0)
        use_null(); /* child */
    wait(NULL);
    puts("the child is gone");
    fflush(stdout);
    for (;;)
        pause();
}

static const struct way {
    const char *name;
    void (*crash)(void);
} ways[] = {
    {"null", use_null},
    {"last", call_last},
    {"inlined", use_inlined},
    {"call", call_null},
    {"assert", fail_assertion},
    {"library", free_twice},
    {"divide", divide},
    {"thread", start_thread},
    {"coroutine", start_coroutine},
    {"own handler", with_own_handler},
    {"back", with_own_handler_that_goes_back},
    {"child", in_a_child},
};

int main(int count, char **words)
{
    if (count == 2 && strcmp(words[1], "overflow") == 0)
        return dig(0);
    for (size_t i = 0; count == 2 && i < sizeof ways / sizeof *ways; i++)
        if (strcmp(words[1], ways[i].name) == 0)
            ways[i].crash();
    return 0;
}

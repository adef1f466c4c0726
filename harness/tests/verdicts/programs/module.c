/* A module that does to the program what it is told. */
#include "module.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int *volatile nowhere;
static volatile int zero;

static int leave_a_child(void)
{
    int child = fork();
    if (child == 0) {
        setsid();
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    return child;
}

__attribute__((noinline)) static void use_null(void)
{
    nowhere[2] = 1;
    zero++;
}

__attribute__((noinline)) static int dig(int depth)
{
    volatile char page[4096];
    page[depth % 4096] = 1;
    return zero ? depth : dig(depth + 1) + page[depth % 7];
}

__attribute__((noinline)) static void free_twice(void)
{
    void *volatile block = malloc(10);
    free(block);
    free(block);
    zero++;
}

static void lock_twice(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock); /* stuck */
}

int module(const char *what)
{
    const char *forged = "hint x\nfailed y\nvalue child 5\n  100 of 100 points\n";
    if (strcmp(what, "null") == 0)
        use_null();
    if (strcmp(what, "overflow") == 0)
        return dig(0);
    if (strcmp(what, "free") == 0)
        free_twice();
    if (strcmp(what, "loop") == 0)
        for (volatile int i = 0;; i++)
            ;
    if (strcmp(what, "wait") == 0)
        pause();
    if (strcmp(what, "lock") == 0)
        lock_twice();
    if (strcmp(what, "exit") == 0)
        exit(0);
    if (strcmp(what, "late crash") == 0)
        atexit(use_null);
    if (strcmp(what, "child") == 0)
        return leave_a_child();
    if (strcmp(what, "close") == 0)
        for (int fd = 0; fd < 100; fd++)
            close(fd);
    if (strcmp(what, "print") == 0)
        for (int i = 0; i < 1000; i++)
            dprintf(1 + i % 2, "%s", forged);
    if (strcmp(what, "write") == 0)
        return open("/dev/shm/event-loop-lab-test", O_CREAT | O_WRONLY, 0600) >= 0;
    return 0;
}

int module_touch(const unsigned char *byte)
{
    return *byte;
}

#define _GNU_SOURCE
#include "no_memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool scarce;
static atomic_int failed;

void no_memory_begin(void)
{
    atomic_store(&failed, 0);
    atomic_store(&scarce, true);
}

int no_memory_end(void)
{
    atomic_store(&scarce, false);
    return atomic_load(&failed);
}

#ifndef SANITIZED

/* Whether a call has to fail. */
static bool fails(void)
{
    if (!atomic_load(&scarce))
        return false;
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return true;
}

/* These replace those of the C library, and go on to them. */
void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "malloc");
    return fails() ? NULL : real(size);
}

void *calloc(size_t count, size_t size)
{
    static void *(*real)(size_t, size_t);
    static bool looks; /* dlsym() may call calloc(), and does without its memory */
    if (real == NULL) {
        if (looks)
            return NULL;
        looks = true;
        *(void **)&real = dlsym(RTLD_NEXT, "calloc");
        looks = false;
    }
    return fails() ? NULL : real(count, size);
}

void *realloc(void *memory, size_t size)
{
    static void *(*real)(void *, size_t);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "realloc");
    return fails() ? NULL : real(memory, size);
}

#endif

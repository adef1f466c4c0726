#include "no_memory.h"

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

/* The address sanitizer has functions of its own, and none of them may be replaced. */
#if !defined SANITIZED && !defined __SANITIZE_ADDRESS__

/* Those of glibc by their other names: the functions below take the place of malloc() and others. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static bool fails(void)
{
    if (!atomic_load(&scarce))
        return false;
    atomic_fetch_add(&failed, 1);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

#endif

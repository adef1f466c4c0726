/*
 * A second library, loaded beside the first one only on request: malloc() and its relatives, which
 * return NULL when the schedule says ENOMEM.
 *
 * It is apart because a program under a sanitizer, or with an allocator of its own, is better left
 * with its own malloc(). The names of the C library's own functions are those of glibc, whose
 * reallocarray() calls realloc().
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(default)

/* Of the first library, which is loaded before this one. */
extern bool shim_allocation_fails(size_t size) __attribute__((weak));

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static bool fails(size_t size)
{
    if (shim_allocation_fails == NULL || !shim_allocation_fails(size))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return fails(size) ? NULL : __libc_realloc(block, size);
}

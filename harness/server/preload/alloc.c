/*
 * A second library, loaded beside the first one only on request: malloc() and its
 * relatives, which return NULL when the schedule says ENOMEM.
 *
 * It is apart because a program under a sanitizer, or with an allocator of its own, is better left
 * with its own malloc().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* Of the first library, which is loaded before this one. */
extern bool shim_allocation_fails(size_t size) __attribute__((weak));

static bool fails(size_t size)
{
    if (shim_allocation_fails == NULL || !shim_allocation_fails(size))
        return false;
    errno = ENOMEM;
    return true;
}

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);

/* dlsym() may allocate before it has found out what we ask it for. */
static alignas(max_align_t) unsigned char early[4096];
static size_t early_used;
static bool looking;

static void *early_block(size_t size)
{
    size_t start = early_used;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (size > sizeof early - start)
        abort();
    early_used += size;
    return early + start;
}

static bool is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < sizeof early;
}

__attribute__((constructor)) static void look(void)
{
    if (real_free != NULL || looking)
        return;
    looking = true;
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    looking = false;
}

void *malloc(size_t size)
{
    look();
    if (looking)
        return early_block(size);
    return fails(size) ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    look();
    if (looking)
        return early_block(count * size); /* static memory is zero */
    return fails(count * size) ? NULL : real_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    look();
    if (!is_early(block))
        return fails(size) ? NULL : real_realloc(block, size);
    size_t most = (size_t)(early + sizeof early - (unsigned char *)block);
    void *moved = real_malloc(size);
    if (moved != NULL)
        memcpy(moved, block, size < most ? size : most);
    return moved;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, count * size);
}

void free(void *block)
{
    look();
    if (block != NULL && !is_early(block))
        real_free(block);
}

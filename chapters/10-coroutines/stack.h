/* The stacks that coroutines run on. Below each lies a guard page, which nothing can access.
 *
 *     guard page         the stack: grows downwards
 *     +---------------+------------------------------------------+
 *     |   no access   |             <-------------  in use       |
 *     +---------------+------------------------------------------+
 *                     ^ bottom                                   ^ bottom + size
 *
 * The address space is reserved for all of it, but the kernel provides the memory of a page only
 * when the page is first touched. So a stack costs the pages that have been used, until it is
 * freed. */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack {
    uint8_t *bottom;
    size_t size;
    unsigned registered; /* valgrind's number for it */
};

/* `size` is rounded up to whole pages. False: errno has the reason. */
bool stack_open(struct stack *stack, size_t size);

/* Unmaps the stack, and everything on it. */
void stack_close(struct stack *stack);

/* Whether an address is in the guard page: then the stack has overflowed. */
bool stack_guards(const struct stack *stack, const void *address);

#endif

/* The stacks that coroutines run on: each with a page below it that nobody may touch.
 *
 *     guard page         the stack: grows downwards
 *     +---------------+------------------------------------------+
 *     |   no access   |             <-------------  in use       |
 *     +---------------+------------------------------------------+
 *                     ^ bottom                                   ^ bottom + size
 *
 * Memory is asked for in whole, but the kernel hands out a page only when it is touched. So a stack
 * costs what has been used of it, and that stays so until it is freed. */
#ifndef STACK_H
#define STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack {
    uint8_t *bottom;
    size_t size;
    unsigned registered; /* valgrind's number of it */
};

/* `size` is rounded up to whole pages. False: errno has the reason. */
bool stack_open(struct stack *stack, size_t size);

/* What lies on it is gone. */
void stack_close(struct stack *stack);

/* Whether an address is in the guard page: then whoever ran on this stack has used it up. */
bool stack_guards(const struct stack *stack, const void *address);

#endif

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
 * unmapped. */
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

/* Stacks of one size that are not in use. The next coroutine takes one of them: that saves three
 * system calls, and its pages have been touched already. */
enum { KEPT_STACKS = 64 };
struct stacks {
    size_t size; /* of each of them. Set it before the first call; the rest begins as 0 */
    size_t count;
    struct stack kept[KEPT_STACKS];
};

/* A kept stack, or a new one. False: errno has the reason. */
bool stacks_take(struct stacks *stacks, struct stack *stack);

/* Keeps a stack for the next coroutine, or unmaps it if enough are kept. */
void stacks_give(struct stacks *stacks, struct stack *stack);

/* Unmaps all that are kept. */
void stacks_free(struct stacks *stacks);

/* Whether an address is in the guard page: then the stack has overflowed. */
bool stack_guards(const struct stack *stack, const void *address);

#endif

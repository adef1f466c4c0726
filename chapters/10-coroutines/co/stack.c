#include "co/stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/tools.h"

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool stack_open(struct stack *stack, size_t size)
{
    size_t page = page_size();
    size = (size + page - 1) / page * page;
    uint8_t *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    /* TODO 2: Protect the lowest page of the memory, so that an overflow of the stack is
     * SIGSEGV. Graded by test_10_overflow_names_the_coroutine.
     * mprotect(2) can fail. Then give the memory back, and leave errno to the caller. */
    *stack = (struct stack){.bottom = memory + page, .size = size};
    stack->registered = VALGRIND_STACK_REGISTER(memory + page, memory + page + size);
    return true;
}

void stack_close(struct stack *stack)
{
    size_t page = page_size();
    VALGRIND_STACK_DEREGISTER(stack->registered);
    munmap(stack->bottom - page, page + stack->size);
}

bool stacks_take(struct stacks *stacks, struct stack *stack)
{
    if (stacks->count == 0)
        return stack_open(stack, stacks->size);
    *stack = stacks->kept[--stacks->count]; /* the last one: its pages may still be in a cache */
    return true;
}

void stacks_give(struct stacks *stacks, struct stack *stack)
{
    if (stacks->count < KEPT_STACKS)
        stacks->kept[stacks->count++] = *stack;
    else
        stack_close(stack);
}

void stacks_free(struct stacks *stacks)
{
    while (stacks->count > 0)
        stack_close(&stacks->kept[--stacks->count]);
}

bool stack_guards(const struct stack *stack, const void *address)
{
    uintptr_t bottom = (uintptr_t)stack->bottom;
    return (uintptr_t)address < bottom && (uintptr_t)address >= bottom - page_size();
}

/* swapcontext(): a function stops in the middle of its loop, and continues there later. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static ucontext_t main_context, count_context;
static char stack[64 * 1024];
static bool done;

static void count(void)
{
    for (int n = 1; n <= 3; n++) {
        bool own = (uintptr_t)&n - (uintptr_t)stack < sizeof stack;
        printf("        count(): n = %d, on %s stack\n", n, own ? "its own" : "main's");
        swapcontext(&count_context, &main_context);
    }
    done = true;
    printf("        count(): returns\n");
}

int main(void)
{
    getcontext(&count_context);
    count_context.uc_stack.ss_sp = stack;
    count_context.uc_stack.ss_size = sizeof stack;
    count_context.uc_link = &main_context; /* where to continue when count() returns */
    makecontext(&count_context, count, 0);
    while (!done) {
        printf("main(): switches\n");
        swapcontext(&main_context, &count_context);
    }
    printf("main(): ends\n");
    return 0;
}

/* A context: where a function has stopped, and what it needs to continue there.
 *
 * On x86-64 and aarch64 the switch is some lines of assembly. Elsewhere, and when compiled with
 * -DCONTEXT_UCONTEXT, it is swapcontext(), which makes a system call for each switch.
 *
 * With -fcf-protection, which some compilers have by default, each object file tells the linker
 * that its code works while the processor checks jumps (IBT) and return addresses, which it also
 * keeps on a shadow stack (SHSTK). Our assembly does not: it would have to exchange this stack,
 * too, as swapcontext() does. So the lab compiles with -fcf-protection=none. */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <stddef.h>

/* AddressSanitizer follows swapcontext(), and would not notice a switch of our own. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ /* as gcc has it */
#endif
#endif

#if !defined(__LP64__) || !(defined(__x86_64__) || defined(__aarch64__)) ||                        \
    defined(__SANITIZE_ADDRESS__) || defined(__CET__) /* -fcf-protection */
#define CONTEXT_UCONTEXT
#endif

#ifdef CONTEXT_UCONTEXT
#include <ucontext.h>
struct context {
    ucontext_t saved;
};
#else
struct context {
    void *stack_pointer; /* the registers are saved where it points */
};
#endif

/* Prepares a context: the first switch to it calls `begin` on this stack. `begin` must never
 * return. */
void context_make(struct context *context, void *bottom, size_t size, void (*begin)(void));

/* Saves the running context in `from`, and continues `to`. Returns when another switch continues
 * `from`. A context can be continued once for each time it was saved. */
void context_switch(struct context *from, struct context *to);

#endif

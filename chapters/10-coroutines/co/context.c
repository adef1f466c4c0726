#include "co/context.h"

#ifdef CONTEXT_UCONTEXT

void context_make(struct context *context, void *bottom, size_t size, void (*begin)(void))
{
    getcontext(&context->saved);
    context->saved.uc_stack.ss_sp = bottom;
    context->saved.uc_stack.ss_size = size;
    makecontext(&context->saved, begin, 0);
}

void context_switch(struct context *from, struct context *to)
{
    swapcontext(&from->saved, &to->saved);
}

#else

#include <stdint.h>
#include <string.h>

/* To its caller context_switch() is a function like any other. So the compiler has already saved
 * what a function may overwrite. What a function must preserve is saved here, on the stack: the
 * callee-saved registers, below the return address. Then the stack pointer is exchanged, and the
 * same registers are loaded from the other stack. The signal mask and the rounding mode stay as
 * they are: nobody here changes them.
 *
 * first_call() is where a new stack begins. It calls the function in the first of these registers.
 *
 * The lines with .cfi_ tell gdb and valgrind where each register is, so that a backtrace finds the
 * caller. At first_call() it ends, because nobody has called that. `switched` is a name for gdb: a
 * context that waits continues there.
 *
 * Which registers these are: System V ABI for AMD64, figure 3.4; AAPCS64, section 6.1. */
void first_call(void);

#ifdef __x86_64__

enum { BEGIN = 3, RETURN = 6, WORDS = 7 }; /* r15, r14, r13, r12, rbx, rbp, return address */

__asm__(".macro save register\n"
        "    pushq \\register\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    .cfi_rel_offset \\register, 0\n"
        ".endm\n"
        ".macro restore register\n"
        "    popq \\register\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    .cfi_restore \\register\n"
        ".endm\n"
        ".text\n"
        ".globl context_switch\n"
        ".type context_switch, @function\n"
        "context_switch:\n"
        "    .cfi_startproc\n"
        "    save %rbp\n"
        "    save %rbx\n"
        "    save %r12\n"
        "    save %r13\n"
        "    save %r14\n"
        "    save %r15\n"
        "    movq %rsp, (%rdi)\n" /* from->stack_pointer */
        "    movq (%rsi), %rsp\n" /* to->stack_pointer */
        "switched:\n"
        "    restore %r15\n"
        "    restore %r14\n"
        "    restore %r13\n"
        "    restore %r12\n"
        "    restore %rbx\n"
        "    restore %rbp\n"
        "    popq %rcx\n" /* where to continue. Not by `ret`: the processor would expect to */
        "    .cfi_adjust_cfa_offset -8\n" /* return to the caller on the old stack */
        "    .cfi_register %rip, %rcx\n"
        "    jmpq *%rcx\n"
        "    .cfi_endproc\n"
        ".size context_switch, . - context_switch\n"
        ".globl first_call\n"
        ".hidden first_call\n"
        ".type first_call, @function\n"
        "first_call:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined %rip\n"
        "    callq *%r12\n"
        "    ud2\n" /* crashes: the function has returned */
        "    .cfi_endproc\n"
        ".size first_call, . - first_call\n");

#else /* aarch64 */

enum { BEGIN = 0, RETURN = 11, WORDS = 20 }; /* x19 to x30, the return address; d8 to d15 */

__asm__(".macro save first second offset\n"
        "    stp \\first, \\second, [sp, #\\offset]\n"
        "    .cfi_rel_offset \\first, \\offset\n"
        "    .cfi_rel_offset \\second, \\offset + 8\n"
        ".endm\n"
        ".macro restore first second offset\n"
        "    ldp \\first, \\second, [sp, #\\offset]\n"
        "    .cfi_restore \\first\n"
        "    .cfi_restore \\second\n"
        ".endm\n"
        ".text\n"
        ".globl context_switch\n"
        ".type context_switch, @function\n"
        "context_switch:\n"
        "    .cfi_startproc\n"
        "    sub sp, sp, #160\n"
        "    .cfi_adjust_cfa_offset 160\n"
        "    save x19, x20, 0\n"
        "    save x21, x22, 16\n"
        "    save x23, x24, 32\n"
        "    save x25, x26, 48\n"
        "    save x27, x28, 64\n"
        "    save x29, x30, 80\n"
        "    save d8, d9, 96\n"
        "    save d10, d11, 112\n"
        "    save d12, d13, 128\n"
        "    save d14, d15, 144\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n" /* from->stack_pointer */
        "    ldr x9, [x1]\n" /* to->stack_pointer */
        "    mov sp, x9\n"
        "switched:\n"
        "    restore x19, x20, 0\n"
        "    restore x21, x22, 16\n"
        "    restore x23, x24, 32\n"
        "    restore x25, x26, 48\n"
        "    restore x27, x28, 64\n"
        "    restore x29, x30, 80\n"
        "    restore d8, d9, 96\n"
        "    restore d10, d11, 112\n"
        "    restore d12, d13, 128\n"
        "    restore d14, d15, 144\n"
        "    add sp, sp, #160\n"
        "    .cfi_adjust_cfa_offset -160\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size context_switch, . - context_switch\n"
        ".globl first_call\n"
        ".hidden first_call\n"
        ".type first_call, @function\n"
        "first_call:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    blr x19\n"
        "    brk #1\n" /* crashes: the function has returned */
        "    .cfi_endproc\n"
        ".size first_call, . - first_call\n");

#endif

void context_make(struct context *context, void *bottom, size_t size, void (*begin)(void))
{
    uintptr_t top = ((uintptr_t)bottom + size) & ~(uintptr_t)15; /* both ABIs align it so */
    uintptr_t *words = (uintptr_t *)top - WORDS;
    memset(words, 0, WORDS * sizeof *words);
    words[BEGIN] = (uintptr_t)begin;
    words[RETURN] = (uintptr_t)first_call;
    context->stack_pointer = words;
}

#endif

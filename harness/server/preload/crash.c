/*
 * Where a program has crashed. A handler of the signals that a fault of the program raises writes
 * the place into the shared file, and then lets the signal end the process.
 *
 * The program cannot tell. When it sets one of these signals to the default action it gets our
 * handler, and it is told that our handler is the default action. A handler of its own replaces
 * ours.
 *
 * Signal safety: the handler calls readlink(), getpid(), raise() and the unwinder of libgcc, which
 * allocates nothing. Before glibc 2.35 the unwinder takes a lock of the dynamic linker; a crash
 * inside the linker would find it taken. The unwinder itself may crash on a stack that was
 * overwritten. Then the kernel ends the process at once, and the callers are not known.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define STACK_BYTES (64 << 10) /* of the handler, in the main thread */

static const int FAULTS[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
enum { FAULTS_COUNT = sizeof FAULTS / sizeof *FAULTS };

/* A function of every sanitizer's runtime, which tells more about a crash than we could, and has an
 * alternate stack of its own. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static struct crash *crash; /* in the shared file; NULL: there is no handler */

/* The main program in memory: where it was loaded, and its code. */
static struct {
    uintptr_t base, start, end;
} program;

static int find_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    program.base = info->dlpi_addr;
    program.start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
            continue;
        uintptr_t start = program.base + part->p_vaddr, end = start + part->p_memsz;
        program.start = start < program.start ? start : program.start;
        program.end = end > program.end ? end : program.end;
    }
    return 1; /* the main program comes first, and is enough */
}

/* The registers at the fault: program counter, stack pointer, and the place of the return address
 * of a function that has only just been called. All 0 on a processor that is not known here. */
struct registers {
    uintptr_t pc, sp;
    const uintptr_t *caller;
};

static struct registers registers_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    const greg_t *all = context->uc_mcontext.gregs;
    uintptr_t sp = (uintptr_t)all[REG_RSP];
    return (struct registers){(uintptr_t)all[REG_RIP], sp, (const uintptr_t *)sp};
#elif defined(__aarch64__)
    const mcontext_t *all = &context->uc_mcontext;
    return (struct registers){all->pc, all->sp, (const uintptr_t *)&all->regs[30]};
#else
    (void)context;
    return (struct registers){0};
#endif
}

struct walk {
    uint32_t frames;
    bool begun;
};

/* Notes a frame; `pc` is an address within the instruction that it is in. */
static void note_frame(struct walk *walk, uintptr_t pc)
{
    bool inside = pc >= program.start && pc < program.end;
    crash->frame[walk->frames++] = inside ? pc - program.base : OUTSIDE;
}

/* The frames of the handler come first. The frame that the signal has interrupted is the first one
 * whose address is that of the next instruction, not of the one after a call. */
static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    int before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    walk->begun |= before != 0;
    if (walk->begun)
        note_frame(walk, before ? pc : pc - 1);
    return walk->frames < FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void note(int number, const siginfo_t *info, const ucontext_t *context)
{
    struct registers now = registers_of(context);
    bool known = info->si_code > 0 && info->si_code != SI_KERNEL;
    crash->address = known ? (uintptr_t)info->si_addr : NO_ADDRESS;
    crash->pc = now.pc;
    crash->sp = now.sp;
    ssize_t size = readlink("/proc/self/exe", crash->program, PROGRAM_MAX - 1);
    crash->program[size > 0 ? size : 0] = '\0';
    atomic_store(&crash->signal, number);
    struct walk walk = {0};
    note_frame(&walk, now.pc);
    if (crash->address != now.pc || number != SIGSEGV) {
        walk.frames = 0;
        _Unwind_Backtrace(take_frame, &walk);
    } else if (now.caller != NULL) { /* it called what is no function; the unwinder would read it */
        note_frame(&walk, *now.caller - 1);
    }
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&crash->pid, &nobody, (uint32_t)getpid()))
        note(number, info, context);
    raise(number); /* blocked until we return; then it ends the process: SA_RESETHAND */
}

static bool is_fault(int number)
{
    for (int i = 0; i < FAULTS_COUNT; i++)
        if (FAULTS[i] == number)
            return true;
    return false;
}

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);
static __sighandler_t (*real_signal)(int, __sighandler_t);

static void look_for_real(void)
{
    if (real_signal != NULL)
        return;
    real_sigaction = (__typeof__(real_sigaction))dlsym(RTLD_NEXT, "sigaction");
    real_signal = (__typeof__(real_signal))dlsym(RTLD_NEXT, "signal");
}

static int set_handler(int number, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction ours = {.sa_sigaction = on_crash,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    sigfillset(&ours.sa_mask);
    bool by_default = action != NULL && action->sa_handler == SIG_DFL;
    int result = real_sigaction(number, by_default ? &ours : action, before);
    if (result == 0 && before != NULL && before->sa_sigaction == on_crash)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    return result;
}

void crash_start(struct crash *place)
{
    static _Alignas(16) uint8_t stack[STACK_BYTES];
    look_for_real();
    if (__sanitizer_print_stack_trace != NULL)
        return;
    dl_iterate_phdr(find_program, NULL);
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    crash = place;
    for (int i = 0; i < FAULTS_COUNT; i++) {
        struct sigaction before;
        if (real_sigaction(FAULTS[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            set_handler(FAULTS[i], &before, NULL);
    }
}

#pragma GCC visibility push(default)

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    look_for_real();
    if (crash == NULL || !is_fault(number))
        return real_sigaction(number, action, before);
    return set_handler(number, action, before);
}

__sighandler_t signal(int number, __sighandler_t handler)
{
    look_for_real();
    if (crash == NULL || !is_fault(number))
        return real_signal(number, handler);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    return set_handler(number, &action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

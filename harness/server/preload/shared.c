/*
 * The beginning of the library: it maps the file, finds the C library's functions, and sets handlers
 * of signals. SIGUSR1 interrupts a call. A signal that a fault of the program raises has its place
 * written into the file, and then ends the process; a handler of the program's own replaces ours.
 *
 * Signal safety: the handler of a crash calls readlink(), getpid(), raise() and backtrace(), which
 * allocates nothing once it has been called. Before glibc 2.35 the unwinder takes a lock of the
 * dynamic linker; a crash inside the linker would find it taken. The unwinder itself may crash on a
 * stack that was overwritten. Then the kernel ends the process at once, and the callers are not
 * known.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES (64 << 10) /* of the handler, in the main thread */
#define DEEPEST     64         /* frames that are looked at; those of the handler come first */

struct shared *shared;

static const char *const NAMES[CALLS] = {
#define CALL_NAME(name, does) #name,
    EACH_CALL(CALL_NAME)
#undef CALL_NAME
};

static void *_Atomic functions[CALLS];

void *real_function(enum call call)
{
    void *found = functions[call];
    if (found == NULL)
        functions[call] = found = dlsym(RTLD_NEXT, NAMES[call]);
    return found;
}

bool is_known(enum call call)
{
    return functions[call] != NULL;
}

/* Crashes */

static const int FAULTS[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
enum { FAULTS_COUNT = sizeof FAULTS / sizeof *FAULTS };

/* A function of every sanitizer's runtime, which tells more about a crash than we could, and has an
 * alternate stack of its own. */
extern void __sanitizer_print_stack_trace(void) __attribute__((weak));

static struct crash *crash; /* in the shared file */

static uintptr_t base; /* where the main program was loaded, if it may be anywhere; else 0 */

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

/* Notes the callers of the function that the signal has interrupted at `pc`. */
static void note_callers(uintptr_t pc)
{
    void *found[DEEPEST];
    int count = backtrace(found, DEEPEST), first = 0;
    while (first < count && (uintptr_t)found[first] != pc)
        first++;
    for (int n = 1; n < FRAMES_MAX && first + n < count; n++)
        crash->frame[n] = (uintptr_t)found[first + n] - 1 - base; /* within the call */
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
    crash->frame[0] = now.pc - base;
    if (crash->address != now.pc || number != SIGSEGV)
        note_callers(now.pc);
    else if (now.caller != NULL) /* it called what is no function; the unwinder would read it */
        crash->frame[1] = *now.caller - 1 - base;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    uint32_t nobody = 0;
    if (atomic_compare_exchange_strong(&crash->pid, &nobody, (uint32_t)getpid()))
        note(number, info, context);
    raise(number); /* blocked until we return; then it ends the process: SA_RESETHAND */
}

static void note_crashes(struct crash *place)
{
    static _Alignas(16) uint8_t stack[STACK_BYTES];
    struct sigaction ours = {.sa_sigaction = on_crash,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    void *here;
    if (__sanitizer_print_stack_trace != NULL)
        return;
    backtrace(&here, 1);           /* it loads the unwinder */
    base = _r_debug.r_map->l_addr; /* of the first in this list */
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    crash = place;
    sigfillset(&ours.sa_mask);
    for (int i = 0; i < FAULTS_COUNT; i++)
        sigaction(FAULTS[i], &ours, NULL);
}

/* The harness sends SIGUSR1 to interrupt a call that waits (EINTR, or a transfer cut short). The
 * handler does nothing, and is installed without SA_RESTART. */
static void ignore_signal(int number)
{
    (void)number;
}

static struct shared *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct stat st;
    void *map = MAP_FAILED;
    if (fstat(fd, &st) == 0 && (size_t)st.st_size == sizeof(struct shared))
        map = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REAL(close)(fd);
    struct shared *found = map;
    if (map == MAP_FAILED || found->magic == MAGIC)
        return map == MAP_FAILED ? NULL : found;
    munmap(map, sizeof(struct shared));
    return NULL;
}

__attribute__((constructor)) static void shim_start(void)
{
    int saved = errno;
    /* Now, since dlsym() must not be called in a signal handler, and write() may be. */
    for (enum call call = 0; call < CALLS; call++)
        if (call != CALL_io_uring_enter) /* liburing may not be there */
            real_function(call);
    const char *path = getenv("EVENT_LOOP_SHIM");
    struct shared *found = path != NULL ? map_file(path) : NULL;
    if (found != NULL && found->duties & CRASHES_NOTE)
        note_crashes(&found->crash);
    if (found != NULL && found->duties & CALLS_COUNT) {
        shared = found;
        struct sigaction action = {.sa_handler = ignore_signal};
        sigaction(SIGUSR1, &action, NULL);
        record_start();
        waits_start();
        sockets_start();
        if (getenv("EVENT_LOOP_DEBUG") != NULL) /* gdb is not our ancestor: see ptrace(2), Yama */
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    }
    errno = saved;
}

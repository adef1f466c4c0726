#include "co/overflow.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "co/co.h"

/* The handler needs a stack of its own: nothing is left of the one that has overflowed. */
static _Thread_local uint8_t handler_stack[64 << 10];

static void say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* printf() must not be called in a signal handler: see signal-safety(7). */
static void say_number(size_t number)
{
    char digits[32];
    char *at = digits + sizeof digits;
    *--at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    say(at);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0) { /* sent by kill(2): no instruction has failed */
        signal(number, SIG_DFL);
        raise(number); /* ends the process when this handler returns */
        return;
    }
    size_t size;
    const char *name = co_overflowed(info->si_addr, &size);
    if (name != NULL) {
        say("stack overflow in coroutine \"");
        say(name);
        say("\": its stack has ");
        say_number(size);
        say(" bytes; --stack gives more\n");
    }
    /* Returns to the instruction that has failed. It fails again, and now SIGSEGV ends the
     * process. */
    signal(number, SIG_DFL);
}

bool overflow_watch(void)
{
    stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0;
}

void overflow_unwatch(void)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}

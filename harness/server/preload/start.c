/*
 * Makes this process what a server has to be, and executes the server in it:
 *
 *     start REPORT RULESET PRELOAD LIMIT... -- PROGRAM [ARGUMENT...]
 *
 * REPORT is a descriptor. If a step fails, its name and errno are written there ("execute 2").
 * Nothing is written if the program runs: then the descriptor has been closed by execv().
 * RULESET is a descriptor of Landlock, or -1. PRELOAD is the value of LD_PRELOAD for the program,
 * "" to leave it as it is. A LIMIT is RESOURCE:SOFT:HARD for setrlimit().
 *
 * It is a program because the alternative is a fork() of the grader, which copies the page tables
 * of a whole Python: each start of a server was ten times as expensive.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

enum { REPORT = 1, RULESET, PRELOAD, LIMITS };

static int report;

static _Noreturn void failed(const char *step)
{
    dprintf(report, "%s %d", step, errno);
    _exit(127);
}

/* A server begins as from a login, whatever the caller ignores, blocks or has set. */
static void reset_process(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL); /* fails for those that cannot be changed */
    personality(PER_LINUX);
    umask(S_IWGRP | S_IWOTH);
}

static void limit(const char *text)
{
    int resource;
    unsigned long long soft, hard;
    if (sscanf(text, "%d:%llu:%llu", &resource, &soft, &hard) != 3) {
        errno = EINVAL;
        failed("limit");
    }
    struct rlimit limits = {.rlim_cur = soft, .rlim_max = hard};
    if (setrlimit((__rlimit_resource_t)resource, &limits) != 0)
        failed("limit");
}

/* Without privileges to gain, a process may confine itself even if it is not root's. */
static void confine(int ruleset)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        failed("confine");
    close(ruleset);
}

int main(int argc, char **argv)
{
    if (argc < LIMITS)
        return 2;
    report = atoi(argv[REPORT]);
    fcntl(report, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* if the grader is killed */
    reset_process();

    int next = LIMITS;
    while (next < argc && strcmp(argv[next], "--") != 0)
        limit(argv[next++]);
    char **program = argv + next + 1;
    if (next + 1 >= argc)
        return 2;

    int ruleset = atoi(argv[RULESET]);
    if (ruleset >= 0)
        confine(ruleset);
    if (argv[PRELOAD][0] != '\0')
        setenv("LD_PRELOAD", argv[PRELOAD], 1);
    execv(program[0], program);
    failed("execute");
}

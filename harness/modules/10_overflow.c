/* Stacks that are used up, in a child process: whether it is ended, and what it says before.
 * links: co.c context.c? stack.c overflow.c timers.c */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co_case.h"
#include "overflow.h"

#define GUARD "stack-guard"

enum {
    ODD_BYTES = 40000,
    ODD_ROUNDED = 40960,
    A_CALL = 512, /* of the stack, at least; less than a page */
    RESERVED =
        16
        << 10, /* of the stack: not needed by a coroutine that goes this far down and no further */
    BEYOND = 1 << 20, /* no coroutine gets so far beyond its end */
    SAID_MAX = 4096
};

/* What a child does. */
struct case_of {
    const char *name; /* of the coroutine */
    size_t stack_bytes;
    size_t deep; /* bytes of stack that it uses */
    bool wild;   /* it follows a wild pointer then */
    bool sent;   /* it is sent SIGSEGV then */
};

static const struct case_of *now;
static bool *has_begun; /* the coroutine of the child, which shares this */

/* Touches so much of the stack below the caller. */
__attribute__((noinline)) static int dig(const char *top)
{
    volatile char here[A_CALL];
    here[0] = 1;
    size_t deep = (size_t)(top - (const char *)here);
    return deep < now->deep ? dig(top) + here[0] : here[0];
}

static void go_wild(void)
{
    char *volatile nowhere = (char *)16;
    *nowhere = 1;
}

static void use_up(void *unused)
{
    char top = 0;
    *has_begun = true;
    dig(&top);
    if (now->wild)
        go_wild();
    if (now->sent)
        kill(getpid(), SIGSEGV);
}

static void wait_for_ever(void *unused)
{
    co_park(-1);
}

/* The child: 0 is that it got through. */
static int work(void)
{
    co_case_begin(now->stack_bytes);
    if (!overflow_watch())
        return 2;
    co_case_start("innocent", wait_for_ever, NULL);
    co_case_start(now->name, use_up, NULL);
    co_case_start("innocent", wait_for_ever, NULL);
    co_case_run_all(GUARD);
    overflow_unwatch();
    return 0;
}

/* Runs a child. Returns how it has ended; what it has said on stderr is in `said`. */
static int run_child(const struct case_of *c, char said[SAID_MAX])
{
    int ends[2], status;
    if (pipe(ends) != 0)
        check_impossible("pipe: %s", strerror(errno));
    has_begun =
        mmap(NULL, sizeof *has_begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (has_begun == MAP_FAILED)
        check_impossible("mmap: %s", strerror(errno));
    now = c;
    pid_t child = fork();
    if (child < 0)
        check_impossible("fork: %s", strerror(errno));
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        _exit(work());
    }
    close(ends[1]);
    size_t size = 0;
    ssize_t n;
    while (size < SAID_MAX - 1 && (n = read(ends[0], said + size, SAID_MAX - 1 - size)) > 0)
        size += (size_t)n;
    said[size] = '\0';
    said[strcspn(said, "\n")] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    CHECK(*has_begun || WIFSIGNALED(status), "co-switch",
          "the coroutine \"%s\" has not begun, and no coroutine is ready", c->name);
    munmap(has_begun, sizeof *has_begun);
    return status;
}

static void expect_signal(int status)
{
    CHECK(!WIFEXITED(status), GUARD,
          "the coroutine used %zu bytes of a stack of %zu, and was not stopped", now->deep,
          now->stack_bytes);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, GUARD,
          "the process was ended by signal %d instead of SIGSEGV", WTERMSIG(status));
}

/* It goes down further than its stack goes. */
static void too_deep(const char *name, size_t stack_bytes, size_t usable)
{
    char said[SAID_MAX], number[32];
    struct case_of c = {.name = name, .stack_bytes = stack_bytes, .deep = stack_bytes + BEYOND};
    check_case();
    check_step("runs a coroutine \"%s\" that calls itself without end", name);
    int status = run_child(&c, said);
    expect_signal(status);
    snprintf(number, sizeof number, " %zu ", usable);
    CHECK(strstr(said, "overflow") && strstr(said, name) && strstr(said, number), GUARD,
          "a coroutine \"%s\" has used up its stack of %zu bytes, but stderr says: %s", name,
          usable, *said ? said : "nothing");
}

static void overflows(void)
{
    too_deep("digger", STACK_BYTES, STACK_BYTES);
    too_deep("mole", ODD_BYTES, ODD_ROUNDED);
    too_deep("large", 1 << 20, 1 << 20);
}

/* The whole stack may be used. */
static void all_of_it(void)
{
    static const size_t sizes[] = {ODD_BYTES, STACK_BYTES, 1 << 20};
    char said[SAID_MAX];
    for (int i = 0; i < 3; i++) {
        struct case_of c = {.name = "modest", .stack_bytes = sizes[i], .deep = sizes[i] - RESERVED};
        check_case();
        check_step("runs a coroutine that uses %zu bytes of a stack of %zu", c.deep, sizes[i]);
        int status = run_child(&c, said);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, GUARD,
              "a coroutine that used %zu of %zu bytes was ended; stderr says: %s", c.deep, sizes[i],
              *said ? said : "nothing");
    }
}

/* Something else is wrong. */
static void wild_pointer(void)
{
    char said[SAID_MAX];
    struct case_of c = {.name = "wild", .stack_bytes = STACK_BYTES, .wild = true};
    check_case();
    check_step("runs a coroutine that follows a wild pointer");
    int status = run_child(&c, said);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, GUARD,
          "a coroutine follows a wild pointer, but SIGSEGV does not end the process");
    CHECK(strstr(said, "overflow") == NULL, GUARD,
          "a coroutine follows a wild pointer, its stack is hardly used, but stderr says: %s",
          said);
}

/* Nothing is wrong, but somebody wants the process to end, perhaps for its core file. */
static void sent(void)
{
    char said[SAID_MAX];
    struct case_of c = {.name = "sent", .stack_bytes = STACK_BYTES, .sent = true};
    check_case();
    check_step("runs a coroutine, and sends SIGSEGV with kill() meanwhile");
    int status = run_child(&c, said);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "sent-signal-lost",
          "SIGSEGV was sent with kill(), and does not end the process");
    CHECK(strstr(said, "overflow") == NULL, GUARD,
          "SIGSEGV was sent with kill(), and stderr says: %s", said);
}

static void names(void)
{
    overflows();
    all_of_it();
    wild_pointer();
    sent();
}

const struct check checks[] = {
    {"names", names},
    {0},
};

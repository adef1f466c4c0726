/* Coroutines that run in turn, wait, and end. The claim says what happens, in steps like
 *
 *     "start a y p50, run a, run a, pass 50000, turn aL"
 *
 * "start a" has coroutine a do what follows: y(ield), p(ark) and s(leep) for so many ms, wake
 * another (!b), start another, which yields twice (+b). "run" calls co_run(), and "turn" calls
 * timers_run() first. What follows is due: who has begun or gone on meanwhile, and how its wait has
 * ended: W(oken), L(ate) or C(ancelled). "-" is nobody. "pass" is for microseconds.
 * links: co.c context.c? stack.c overflow.c timers.c */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co_case.h"
#include "fake_clock.h"
#include "overflow.h"

enum {
    LETTERS = 26,
    LOG_MAX = 64,
    COROUTINES = 3000,
    SMALL_STACK = 32 << 10,
    TOLERATED = COROUTINES / 10, /* mappings: of stacks that are kept for later, and of malloc */
    A_CALL = 512,                /* of a stack, at least; less than a page */
    SPARED = 16 << 10, /* of a stack: not needed by a coroutine that goes this far and no further */
    BEYOND = 1 << 20,  /* no coroutine gets so far beyond its end */
    SAID_MAX = 4096
};

static const char *hint;

/* Steps */

struct actor {
    struct coroutine *co;
    const char *does;
    char name[2];
};

static struct actor actors[LETTERS];
static char order[LOG_MAX]; /* who has run, and how waits have ended */
static int64_t turn_before; /* co_turn(), of the coroutine that ran last */
static bool is_new_turn;

static void note(struct actor *a, char result)
{
    size_t size = strlen(order);
    CHECK(co_self() == a->co, hint, "co_self() is not the coroutine that runs");
    CHECK(turn_before < 0 || (co_turn() != turn_before) == is_new_turn, hint,
          "co_turn() was %lld before, and is %u in %s call of co_run()", (long long)turn_before,
          co_turn(), is_new_turn ? "the next" : "the same");
    turn_before = co_turn();
    is_new_turn = false;
    CHECK(size < LOG_MAX - 2, hint, "coroutines run again and again: %s", order);
    order[size] = a->name[0];
    order[size + 1] = result;
}

static char ended_by(enum co_result result)
{
    return (unsigned)result <= CO_CANCELLED ? "WLC"[result] : '?';
}

static void act(void *argument);

static void start(char name, const char *does)
{
    struct actor *a = &actors[name - 'a'];
    check_step("calls co_start() for coroutine %c", name);
    *a = (struct actor){.does = does, .name = {name}};
    a->co = co_case_start(a->name, act, a);
}

static struct coroutine *find(char name)
{
    return name == '-' ? NULL : actors[name - 'a'].co;
}

static void do_word(struct actor *a, const char *word)
{
    int ms = word[1] ? atoi(word + 1) : -1;
    char result = 0;
    if (strchr("ps", *word) != NULL)
        check_step("has coroutine %s call %s(%d)", a->name, *word == 'p' ? "co_park" : "co_sleep",
                   ms);
    if (*word == '+')
        start(word[1], "y y");
    else if (*word == '!')
        co_wake(find(word[1]));
    else if (*word == 'y')
        co_yield_now();
    else
        result = ended_by(*word == 'p' ? co_park(ms) : co_sleep(ms));
    if (strchr("yps", *word) != NULL)
        note(a, result);
}

static void act(void *argument)
{
    struct actor *a = argument;
    const char *at = a->does;
    char word[16];
    int size;
    note(a, 0);
    for (; sscanf(at, " %15[^, \n]%n", word, &size) == 1; at += size)
        do_word(a, word);
}

static void expect_order(const char *due)
{
    bool waits = strpbrk(order, "WLC") || strpbrk(due, "WLC");
    CHECK(strcmp(order, due) == 0, hint, "this call of co_run() ran %s; due is %s%s",
          *order ? order : "none", *due ? due : "none",
          waits ? " (W, L, C: its wait ended with CO_WOKEN, CO_LATE, CO_CANCELLED)" : "");
    memset(order, 0, sizeof order);
}

static void run(const char *due)
{
    bool any = co_is_ready(co_case_scheduler);
    is_new_turn = true;
    check_step("calls co_run()");
    bool said = co_run(co_case_scheduler);
    CHECK(said == any, hint, "co_run() returned %s, but %s coroutine was ready",
          said ? "true" : "false", any ? "a" : "no");
    CHECK(co_self() == NULL, hint, "co_self() is not NULL after co_run() returned");
    if (*due != '*')
        expect_order(*due == '-' ? "" : due);
}

static void tell_of(const char *function, char name)
{
    check_step(name == '-' ? "calls %s(NULL)" : "calls %s() for coroutine %c", function, name);
}

static void run_step(const char *step)
{
    char verb[16], what[32] = "-";
    int after = 0;
    sscanf(step, " %15[^, \n] %31[^, \n]%n", verb, what, &after);
    if (strcmp(verb, "start") == 0) {
        start(*what, step + after);
    } else if (strcmp(verb, "run") == 0) {
        run(what);
    } else if (strcmp(verb, "turn") == 0) {
        check_step("calls timers_run()");
        timers_run(co_case_timers);
        run(what);
    } else if (strcmp(verb, "pass") == 0) {
        fake_clock_advance(atoll(what));
    } else if (strcmp(verb, "wake") == 0) {
        tell_of("co_wake", *what);
        co_wake(find(*what));
    } else if (strcmp(verb, "cancel") == 0) {
        tell_of("co_cancel", *what);
        co_cancel(find(*what));
    } else if (strcmp(verb, "idle") == 0) {
        CHECK(timers_timeout(co_case_timers) == -1, hint,
              "a timer is still set, but no coroutine waits for a deadline");
    } else {
        check_impossible("there is no step %s", verb);
    }
}

static void steps(void)
{
    hint = check_option("hint");
    turn_before = -1;
    co_case_begin(STACK_BYTES);
    fake_clock_begin();
    fake_clock_us += MS - fake_clock_us % MS + check_number("late_us");
    for (const char *step = check_option("script"); step != NULL; step = strchr(step, ','))
        run_step(step += *step == ',');
    co_case_end();
}

/* Very many */

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;
    if (maps == NULL)
        check_impossible("no /proc/self/maps: %s", strerror(errno));
    for (int c; (c = getc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

static void be_one_of_many(void *argument)
{
    int *ended = argument;
    co_yield_now();
    ++*ended;
}

static void thousands(void)
{
    int ended = 0;
    co_case_begin(SMALL_STACK);
    int before = mappings();
    check_step("starts %d coroutines, which yield once", COROUTINES);
    for (int i = 0; i < COROUTINES; i++)
        co_case_start("one of many", be_one_of_many, &ended);
    check_step("calls co_run() until no coroutine is ready");
    while (co_run(co_case_scheduler))
        continue;
    CHECK(ended == COROUTINES, "co-switch", "%d of %d coroutines finished", ended, COROUTINES);
    int more = mappings() - before;
    CHECK(more <= TOLERATED, "stack-kept",
          "%d coroutines have finished, but there are %d more mappings than before", COROUTINES,
          more);
    co_case_end();
}

/* Stacks that are used up, in a child: whether it is ended, and what it says before */

static void go_wild(void)
{
    char *volatile nowhere = (char *)16;
    *nowhere = 1;
}

static void get_a_signal(void)
{
    kill(getpid(), SIGSEGV);
}

static const struct fault {
    const char *name; /* of the coroutine */
    size_t stack_bytes;
    size_t deep;      /* bytes of stack that it uses */
    const char *says; /* at the end on stderr, beside the name. "": nothing. NULL: it survives */
    void (*then)(void);
    const char *then_what;
} faults[] = {
    {"digger", STACK_BYTES, STACK_BYTES + BEYOND, " 65536 ", NULL, ""},
    {"modest", STACK_BYTES, STACK_BYTES - SPARED, NULL, NULL, ""},
    {"large", 1 << 20, (1 << 20) - SPARED, NULL, NULL, ""},
    {"wild", STACK_BYTES, 0, "", go_wild, ", and follow a wild pointer"},
    {"sent", STACK_BYTES, 0, "", get_a_signal, ", while SIGSEGV is sent with kill()"},
};

static const struct fault *now;
static bool *has_begun; /* the coroutine of the child, which shares this */

/* Touches so much of the stack below the caller. */
__attribute__((noinline)) static int dig(const char *top)
{
    volatile char here[A_CALL];
    here[0] = 1;
    size_t deep = (size_t)(top - (const char *)here);
    return deep < now->deep ? dig(top) + here[0] : here[0];
}

static void use_up(void *unused)
{
    char top = 0;
    *has_begun = true;
    dig(&top);
    if (now->then != NULL)
        now->then();
}

/* The child: 0 is that it got through. */
static int work(void)
{
    co_case_begin(now->stack_bytes);
    check_step("has a coroutine \"%s\" use %zu bytes of a stack of %zu%s", now->name, now->deep,
               now->stack_bytes, now->then_what);
    if (!overflow_watch())
        return 2;
    co_case_start(now->name, use_up, NULL);
    co_run(co_case_scheduler);
    overflow_unwatch();
    return 0;
}

/* Runs a child. Returns its status; what it has said on stderr is in `said`. */
static int run_child(char said[SAID_MAX])
{
    int ends[2], status;
    has_begun =
        mmap(NULL, sizeof *has_begun, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (has_begun == MAP_FAILED || pipe(ends) != 0)
        check_impossible("no pipe or no memory: %s", strerror(errno));
    pid_t child = fork();
    if (child < 0)
        check_impossible("fork: %s", strerror(errno));
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        _exit(work());
    }
    close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    said[fread(said, 1, SAID_MAX - 1, stream)] = '\0';
    said[strcspn(said, "\n")] = '\0';
    fclose(stream);
    waitpid(child, &status, 0);
    CHECK(*has_begun || WIFSIGNALED(status), "co-switch", "the coroutine \"%s\" has not begun",
          now->name);
    return status;
}

static void overflows(void)
{
    char said[SAID_MAX];
    for (now = faults; now < faults + sizeof faults / sizeof *faults; now++) {
        int status = run_child(said);
        bool due = now->says != NULL, killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
        CHECK(killed == due, now->then == get_a_signal ? "sent-signal-lost" : "stack-guard",
              "SIGSEGV %s, and stderr says: %s",
              due ? "has not ended the process" : "has ended the process",
              *said ? said : "nothing");
        bool named = strstr(said, "overflow") && strstr(said, now->name);
        bool named_due = due && *now->says;
        CHECK(named == named_due && (!named || strstr(said, now->says)), "stack-guard",
              "its stack was %sused up, but stderr says: %s", named_due ? "" : "not ",
              *said ? said : "nothing");
    }
}

const struct check checks[] = {
    {"steps", steps},
    {"thousands", thousands},
    {"overflows", overflows},
    {0},
};

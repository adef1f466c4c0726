/* A check for every way to end, for the tests of harness/claims/stage/program.py.
 * links: module.c */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "module.h"

static void passes(void)
{
    int ends[2];
    check_value("a third", 1 / 3.0);
    check_value("option", (double)check_number("option"));
    check_value("first descriptor", pipe(ends) == 0 ? ends[0] : -1);
    check_value("chance", (double)check_below(1 << 30));
}

static void told(void)
{
    check_step("is in a case that is over");
    check_case();
    check_step("calls module() with \"%s\"", check_option("what"));
    check_value("child", module(check_option("what")));
}

static void fails(void)
{
    check_step("does this");
    check_step("and that, with %s", check_hex("\1\xff", 2));
    CHECK(2 < 1, "number-bytes", "%d is not below %d", 2, 1);
}

static void fails_in_words(void)
{
    const char *once = check_times(1), *thrice = check_times(3);
    errno = ENOENT;
    const char *told = check_reason();
    errno = 0;
    check_fail("number-bytes", "%s, %s; %s, %s", once, thrice, told, check_reason());
}

static void differs(void)
{
    check_equal("number-bytes", "the frame", "abcd", 4, "abXd", 4);
}

static void blames_the_machine(void)
{
    check_impossible("no memory for %d bytes", 7);
}

static void touches(void)
{
    const uint8_t *copy = check_at_the_end("abc", 3);
    check_step("calls module_touch() at %d of 3 bytes", (int)check_number("at"));
    module_touch(copy + check_number("at"));
}

static void *tell(void *who)
{
    for (int i = 0; i < 300; i++)
        check_step("%s %d", (const char *)who, i);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, tell, "other");
    tell("main");
    pthread_join(thread, NULL);
    check_fail("number-bytes", "all is told");
}

static void many_steps(void)
{
    for (int i = 0; i < check_number("count"); i++)
        check_step("does this, number %d", i);
    check_fail("number-bytes", "all is told");
}

const struct check checks[] = {
    {"passes", passes},         {"told", told},
    {"fails", fails},           {"fails_in_words", fails_in_words},
    {"differs", differs},       {"blames", blames_the_machine},
    {"touches", touches},       {"threads", threads},
    {"many_steps", many_steps}, {0},
};

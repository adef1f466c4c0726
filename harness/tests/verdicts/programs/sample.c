/* A check for every way to end, for test_program.py.
 * links: module.c */
#include "check.h"
#include "module.h"

static void passes(void)
{
    check_value("a third", 1 / 3.0);
    check_value("option", (double)check_number("option"));
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
    check_step("and that, with %s, %s", check_hex("\1\xff", 2), check_times(1));
    CHECK(2 < 1, "number-bytes", "%d is not below %d", 2, 1);
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
    for (int i = 0; i < 20000; i++)
        check_step("%s %d", (const char *)who, i);
    return NULL;
}

static void threads(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, tell, "other");
    tell("main");
    pthread_join(thread, NULL);
    check_step("has told all");
    check_fail("number-bytes", "all is told");
}

const struct check checks[] = {
    {"passes", passes},   {"told", told},
    {"fails", fails},     {"differs", differs},
    {"touches", touches}, {"blames", blames_the_machine},
    {"threads", threads}, {0},
};

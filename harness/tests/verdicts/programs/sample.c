/* links: module.c
 * A check for every way to end, for test_program.py. */
#include "check.h"

int module(const char *what);

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
    check_equal("number-bytes", "the frame", "abcd", 4, "abXd", 4);
}

static void prefix(void)
{
    check_equal("number-bytes", "the frame", "abcd", 4, "abc", 3);
}

static void blames_the_machine(void)
{
    check_impossible("no memory for %d bytes", 7);
}

const struct check checks[] = {
    {"told", told}, {"fails", fails}, {"prefix", prefix}, {"blames", blames_the_machine}, {0},
};

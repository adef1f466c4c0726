/* A grader that is not root sees the /proc of a dumpable process only. So the server stays one. */
#define _GNU_SOURCE
#include "shim.h"

#include <stdarg.h>
#include <sys/prctl.h>

#pragma GCC visibility push(default)

int prctl(int option, ...)
{
    va_list given;
    va_start(given, option);
    unsigned long argument[4];
    for (int i = 0; i < 4; i++)
        argument[i] = va_arg(given, unsigned long);
    va_end(given);
    if (option == PR_SET_DUMPABLE && shared != NULL)
        return 0;
    return CALL(prctl, option, argument[0], argument[1], argument[2], argument[3]);
}

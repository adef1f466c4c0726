/*
 * Tries: to edit the files of the grader while it runs. HARNESS names the one: a file of claims
 * that the tests made for this, and none of the lab's own.
 * Bounded by: a single line; an alarm.
 */
#include "hostile.h"

int main(void)
{
    const char *name = getenv("HOSTILE_TARGET");
    int out = name ? open(name, O_WRONLY | O_APPEND) : -1;
    if (out < 0 || write(out, "# edited\n", 9) != 9)
        fprintf(stderr, "cannot edit: %s\n", strerror(errno));
    serve(listening(), NULL);
}

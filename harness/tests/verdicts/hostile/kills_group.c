/*
 * Tries: to kill the process that started it, with its whole process group, before it can be
 * graded. Its own group is another one, and it signals none but the group of its parent.
 * Bounded by: an alarm.
 */
#include "hostile.h"

static void attack(void)
{
    pid_t group = getpgid(getppid());
    fprintf(stderr, "group %d: kill says %d\n", group, kill(-group, 0));
    if (group > 1 && group != getpgrp() && kill(-group, SIGKILL) != 0)
        fprintf(stderr, "group %d: %s\n", group, strerror(errno));
}

int main(void)
{
    serve(listening(), attack);
}

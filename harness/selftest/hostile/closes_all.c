/*
 * Tries: to confuse the grader by closing every descriptor once it has said where it listens.
 * Bounded by: an alarm.
 */
#include "hostile.h"

int main(void)
{
    bounded();
    announce(listener());
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
    for (;;)
        pause();
}

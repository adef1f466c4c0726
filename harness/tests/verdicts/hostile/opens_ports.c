/*
 * Tries: to take the ports that others need. It listens on 500 and accepts on none.
 * Bounded by: an alarm.
 */
#include "hostile.h"

#define PORTS 500

int main(void)
{
    bounded();
    int fd = listener();
    for (int port = 1; port < PORTS; port++)
        listener();
    announce(fd);
    for (;;)
        pause();
}

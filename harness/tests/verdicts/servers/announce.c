/* Says that it listens, and waits to be killed. Enough of a server for test_shim.py. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    puts("listening on 127.0.0.1:1");
    fflush(stdout);
    for (;;)
        pause();
}
